"""``docs/api.md``, generated from the package: ``python -m releasegate._docs`` writes it."""

import inspect
from enum import Enum
from pathlib import Path
from types import ModuleType

import releasegate

PAGE = Path(__file__).parent.parent / "docs" / "api.md"


def page() -> str:
    """The page, Markdown."""
    public = {name: getattr(releasegate, name) for name in releasegate.__all__}
    modules = [value for value in public.values() if isinstance(value, ModuleType)]
    own = {name: value for name, value in public.items() if not isinstance(value, ModuleType)}
    parts = ["# The Python interface", *_described(releasegate), _table(own)]
    for module in modules:
        members = {name: getattr(module, name) for name in module.__all__}
        parts += [f"## {module.__name__}", *_described(module), _table(members)]
    return "\n\n".join(parts) + "\n"


def _described(module: ModuleType) -> list[str]:
    """The module's docstring, with its example as a block of code."""
    text, mark, example = inspect.cleandoc(module.__doc__ or "").partition(">>> ")
    return [text.strip().replace("``", "`"), f"```python\n{mark}{example}\n```"]


def _table(members: dict[str, object]) -> str:
    rows = [f"| `{name}{_signature(value)}` | {_summary(value)} |" for name, value in members.items()]
    return "\n".join(["| name | |", "|---|---|", *rows])


def _signature(value: object) -> str:
    """Names and defaults of the parameters; nothing for what is not called with any of its own."""
    if not callable(value) or (inspect.isclass(value) and _is_read_only(value)):
        return ""
    parameters = inspect.signature(value).parameters.values()
    return str(inspect.Signature([one.replace(annotation=one.empty, default=_default(one)) for one in parameters]))


def _default(parameter: inspect.Parameter) -> object:
    value = parameter.default
    if isinstance(value, Enum):
        return value.value
    return _LeftOut() if repr(value).startswith("<") and value is not parameter.empty else value


class _LeftOut:
    """A default that is not written out."""

    def __repr__(self) -> str:
        return "…"


def _is_read_only(value: type) -> bool:
    return issubclass(value, Enum | Exception | releasegate.Request) or getattr(value, "_is_protocol", False)


def _summary(value: object) -> str:
    first = (inspect.getdoc(value) or "").split("\n\n")[0]
    return " ".join(first.split()).replace("``", "`").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
