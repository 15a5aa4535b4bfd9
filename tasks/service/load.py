"""Reading the settings of the service, or saying everything that is wrong with them at once.

No value of the file is repeated: what stands in the place of a block's name may be a secret.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tasks.errors import Problem, RequestError
from tasks.request.document import MAXIMUM_BYTES, Document, Mistake, NotYaml, read_document
from tasks.service.settings import ServiceSettings

_CORRECT = "see the table of settings in docs/service.md"


def load_settings(path: Path) -> ServiceSettings:
    """Read and check the settings.

    Parameters
    ----------
    path : Path
        YAML 1.2 in UTF-8.

    Raises
    ------
    RequestError
        If the file cannot be read or is not valid; ``problems`` holds every mistake found.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(MAXIMUM_BYTES + 1)
        text = content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(
            "the settings cannot be read",
            where=str(path),
            expected="a readable YAML document in UTF-8",
            got="no such file" if isinstance(error, FileNotFoundError) else type(error).__name__,
            fix="correct the path, its permissions or the encoding",
        ) from None
    try:
        document = read_document(text)
    except NotYaml as unreadable:
        raise _wrong(path, None, [unreadable.mistake]) from None
    mistakes = list(document.mistakes)
    if not isinstance(document.data, dict):
        raise _wrong(path, document, [Mistake((), "not the settings of a service", "a mapping", "none", _CORRECT)])
    try:
        settings = ServiceSettings.model_validate_json(json.dumps(document.data), strict=True)
    except ValidationError as error:
        mistakes += [_mistake(details) for details in error.errors(include_url=False, include_input=False)]
        raise _wrong(path, document, mistakes) from None
    if mistakes:
        raise _wrong(path, document, mistakes)
    return settings


def _mistake(error: ErrorDetails) -> Mistake:
    location, kind = error["loc"], error["type"]
    if kind == "extra_forbidden":
        names = ", ".join(_fields(location[:-1]))
        return Mistake(location, "an unknown key", f"one of {names}", "another key", "remove or rename it", at_key=True)
    if kind == "missing":
        return Mistake(location, "a missing key", _described(location), "nothing", f"add “{location[-1]}: …”")
    if kind == "value_error":
        return Mistake(location, "a setting that cannot be used", str(error["ctx"]["error"]), "another", _CORRECT)
    return Mistake(location, "a setting that cannot be used", _described(location), _got(kind), _CORRECT)


def _got(kind: str) -> str:
    kinds = {"greater_than_equal": "less", "less_than_equal": "more", "string_pattern_mismatch": "another form"}
    return kinds.get(kind, "something else")


def _described(location: tuple[int | str, ...]) -> str:
    """What the model says of a place, with its bounds."""
    model = _model(location[:-1])
    field = None if model is None else model.model_fields.get(str(location[-1]))
    if field is None:
        return "another value"
    limits = {"ge": "at least", "le": "at most"}
    bounds = [
        f"{words} {getattr(one, sign)}"
        for one in field.metadata
        for sign, words in limits.items()
        if hasattr(one, sign)
    ]
    return " — ".join(part for part in (" and ".join(bounds), (field.description or "").rstrip(".")) if part)


def _fields(location: tuple[int | str, ...]) -> list[str]:
    model = _model(location)
    return [] if model is None else list(model.model_fields)


def _model(location: tuple[int | str, ...]) -> type[BaseModel] | None:
    annotation: Any = ServiceSettings
    for step in location:
        if isinstance(step, int):
            annotation = annotation.__args__[0]
        elif isinstance(annotation, type) and issubclass(annotation, BaseModel) and step in annotation.model_fields:
            annotation = annotation.model_fields[step].annotation
        else:
            return None
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _wrong(path: Path, document: Document | None, mistakes: list[Mistake]) -> RequestError:
    problems = tuple(sorted((_problem(one, document) for one in mistakes), key=lambda one: (one.line, one.column)))
    if len(problems) == 1:
        only = problems[0]
        place = f"{path}:{only.line}:{only.column}" + (f", {only.path}" if only.path else "")
        return RequestError(
            only.what, where=place, expected=only.expected, got=only.got, fix=only.fix, problems=problems
        )
    return RequestError(
        f"the settings have {len(problems)} mistakes",
        where=str(path),
        got="; ".join(f"{one.place}: {one.what}" for one in problems),
        fix="correct each of them",
        problems=problems,
    )


def _problem(mistake: Mistake, document: Document | None) -> Problem:
    line, column = (mistake.position or (1, 1)) if document is None else document.position(mistake)
    known = mistake.location[:-1] if mistake.at_key else mistake.location
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in known).removeprefix(".")
    return Problem(mistake.what, path, line, column, mistake.expected, mistake.got, mistake.fix)
