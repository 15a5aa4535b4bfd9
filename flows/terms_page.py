"""``docs/terms.md``: every term of a request, measure and setting of the service, from the descriptions of the models.

``python -m flows.schemas`` writes it with the schemas; a test holds that it is up to date.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.request.measures import MEASURES
from tasks.request.model import LARGER_IS_BETTER, Policy

PAGE = Path(__file__).parents[1] / "docs" / "terms.md"
INTRO = """# Terms of a request

Generated from the models, like the [schemas](../schemas/request.schema.json) that editors use. A dot leads into a part:
`date.shift` of `attributes` is written `date: {shift: person}` under a column. Terms that a part requires are required
only where the part is given."""

Part = dict[str, Any]
_ELSEWHERE = {
    "Role": "[role](request.md#attributes)",
    "PersonalReason": "[`by`, `because`](request.md#attributes)",
    "RowAttribute": "[attributes](#attributes)",
    "MaskingName": "[method](methods/masking.md)",
    "Method": "[method](methods/game.md)",
    "UncertainTerms": "[uncertain](#uncertain)",
    "Measure": "[measure](#measures)",
    "PatternName": "[kinds](methods/scans.md)",
}
"""Models and enumerations that another page, or another table, describes."""
_UNBOUNDED = 1e6 + 1  # limits from here on only catch mistakes of typing, and are left out


def terms_page(request: Part, settings: Part) -> str:
    """The page, Markdown, from the schemas of request and settings."""
    properties = request["properties"]
    parts = {name: part for name, term in properties.items() if (part := _inner(request, term))}
    others = {name: term for name, term in properties.items() if name not in parts}
    tables = {"Request": _table(request, {**request, "properties": others})}
    tables |= {name: _table(request, part) for name, part in parts.items()}
    tables["uncertain"] = _table(request, request["$defs"]["UncertainTerm"])
    tables["Measures"] = "\n".join(_measures())
    tables["Settings of the service"] = _table(settings, settings)
    return "\n\n".join([INTRO, *(f"## {title}\n\n{table}" for title, table in tables.items())]) + "\n"


def _table(schema: Part, part: Part) -> str:
    return "\n".join(["| term | values | meaning |", "|---|---|---|", *_rows(schema, part)])


def _measures() -> Iterator[str]:
    """Table of what gates judge, with the thresholds of the default gates."""
    thresholds = {gate.measure: f" {gate.threshold:g}" for gate in Policy(id="x", version="1").gates}
    yield "| measure | gate, by default | meaning |\n|---|---|---|"
    for measure, text in sorted(MEASURES.items()):
        side = "at_least" if measure in LARGER_IS_BETTER else "at_most"
        yield f"| `{measure}` | `{side}`{thresholds.get(measure, '')} | {text.title} ({text.unit}) |"


def _rows(schema: Part, part: Part, start: str = "") -> Iterator[str]:
    """Rows of a part's terms; those of a part within it stand in its place."""
    for name, term in part["properties"].items():
        if inner := _inner(schema, term):
            yield from _rows(schema, inner, f"{start}{name}.")
        else:
            default = _default(term, required=name in part.get("required", ()))
            value = ", ".join(filter(None, (_values(schema, term), default)))
            said = term.get("description") or schema["$defs"][_name(term)]["description"]
            yield f"| `{start}{name}` | {value} | {' '.join(said.split())} |"


def _inner(schema: Part, term: Part) -> Part | None:
    """The part of a request that a term is, or the items of its list, or the values of its mapping."""
    for one in _alternatives(term):
        if (name := _name(one)) and name not in _ELSEWHERE:
            part: Part = schema["$defs"][name]
            return part if "properties" in part else None
        for within in filter(None, (one.get("items"), _of_mapping(one))):
            if found := _inner(schema, within):
                return found
    return None


def _of_mapping(one: Part) -> Part | None:
    """Schema of the values of a mapping, whose names are of any form or of one."""
    held = next(iter(one.get("patternProperties", {}).values()), one.get("additionalProperties"))
    return held if isinstance(held, dict) else None


def _name(one: Part) -> str:
    return str(one.get("$ref", "")).rpartition("/")[2]


def _alternatives(term: Part) -> list[Part]:
    given: list[Part] = term.get("anyOf", [term])
    return [one for one in given if one.get("type") != "null"]


def _values(schema: Part, term: Part) -> str:
    """Values that a term takes; nothing for text, true and false."""
    return " or ".join(dict.fromkeys(filter(None, (_alternative(schema, one) for one in _alternatives(term)))))


def _alternative(schema: Part, one: Part) -> str:
    if name := _name(one):
        return _ELSEWHERE.get(name) or _alternative(schema, schema["$defs"][name])
    if "enum" in one or "const" in one:
        return ", ".join(f"`{value}`" for value in one.get("enum", [one.get("const")]) if str(value).strip())
    kind = one.get("type")
    if kind == "array":
        return ", ".join(filter(None, ("list", _values(schema, one["items"]))))
    if held := _of_mapping(one):
        return ", ".join(filter(None, ("by name", _values(schema, held))))
    if kind in {"integer", "number"}:
        return f"{'integer ' * (kind == 'integer')}{_range(one)}".strip() or "number"
    return "date" if one.get("format") == "date" else ""


def _range(one: Part) -> str:
    above, below = one.get("exclusiveMinimum"), one.get("exclusiveMaximum")
    low, high = one.get("minimum", -_UNBOUNDED), one.get("maximum", _UNBOUNDED)
    start = f"above {above:g}" if above is not None else f"from {low:g}" if low > -_UNBOUNDED else ""
    if below is not None:
        return f"{start}, below {below:g}"
    return f"{start.removeprefix('from ')} to {high:,.10g}".replace("-", "−") if high < _UNBOUNDED else start


def _default(term: Part, *, required: bool) -> str:
    """Value that holds where a term is not given."""
    default = term.get("default")
    if required or default in (None, "") or isinstance(default, dict):
        return "required" if required else ""
    if not isinstance(default, list):
        return f"default `{str(default).lower() if isinstance(default, bool) else default}`"
    simple = all(isinstance(one, str) and one for one in default) and 0 < len(default) <= 3
    return f"default {', '.join(f'`{one}`' for one in default)}" if simple else ""
