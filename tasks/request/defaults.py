"""Terms that a request leaves to their defaults, with the value and the models' description of each.

Terms are named by keys with dots between them, as in messages. Of columns, tables and recipients, terms of one value
stand together, under “*” in place of their names.
"""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic.fields import FieldInfo

from tasks.request.gate import Gate, prosecutor_gate
from tasks.request.generalization_policy import GatesBudget
from tasks.request.model import Policy, ReleaseRequest
from tasks.request.part import RequestPart

_GATES, _BUDGET = "policy.gates", "policy.generalization.budget"
_PLAIN = re.compile(r"\w[\w ./-]*")


@dataclass(frozen=True)
class Unsaid:
    """A term that a request leaves as it is by default."""

    term: str
    value: str
    """As a document would state it; none where the term has no value."""
    meaning: str
    """The model's description of the term."""
    of: tuple[str, ...] = ()
    """Columns, tables or recipients that leave it unsaid; empty where it is one term, or all of them do."""


def unsaid(request: ReleaseRequest) -> list[Unsaid]:
    """Terms that a request leaves unsaid, in the order of the models.

    Gates are named one by one, each with its own reason, the one that follows from policy.presence among them; the
    limits that follow from gates stand for policy.generalization.budget where that is left out.
    """
    limits = request.budget if isinstance(request.budget, GatesBudget) else None
    return [
        one
        if limits is None or one.term != _BUDGET
        else Unsaid(_BUDGET, _written(limits.model_dump(mode="json", exclude_defaults=True)), _first_line(GatesBudget))
        for one in _of_part(request, "", request.attributes_in(None))
    ]


def _of_part(part: RequestPart, path: str, own: tuple[str, ...] = ()) -> Iterator[Unsaid]:
    """Terms of a part; `own` are the attributes of the dataset, among which a request has those of its tables."""
    for name, field in type(part).model_fields.items():
        value, term = getattr(part, name), f"{path}.{name}" if path else name
        if name == "attributes" and own:
            value = {each: value[each] for each in own}
        if isinstance(value, RequestPart):
            yield from _of_part(value, term)
        elif name not in part.model_fields_set:
            yield from _of_default(value, term, field)
        elif isinstance(value, Mapping):
            yield from _of_all({key: one for key, one in value.items() if isinstance(one, RequestPart)}, f"{term}.*")
        elif isinstance(part, Policy) and name == "gates":
            if part.gates[-1] == prosecutor_gate(part.risk_threshold):
                yield _of_gate(part.gates[-1], len(part.gates) - 1)
        elif isinstance(value, tuple):
            parts = {str(place): one for place, one in enumerate(value) if isinstance(one, RequestPart)}
            yield from _of_all({getattr(one, "id", key): one for key, one in parts.items()}, f"{term}[*]")


def _of_default(value: object, term: str, field: FieldInfo) -> Iterator[Unsaid]:
    gates = [one for one in value if isinstance(one, Gate)] if isinstance(value, tuple) else []
    if gates:
        yield from (_of_gate(one, place) for place, one in enumerate(gates))
    else:
        yield Unsaid(term, _written(value), field.description or "")


def _of_gate(gate: Gate, place: int) -> Unsaid:
    stated = gate.model_dump(mode="json", exclude_none=True, exclude={"because"})
    return Unsaid(f"{_GATES}[{place}]", _written(stated), gate.because)


def _of_all(parts: Mapping[str, RequestPart], term: str) -> Iterator[Unsaid]:
    """Terms of several parts, those of one value together."""
    together: dict[tuple[str, str], list[tuple[str, Unsaid]]] = {}
    for key, part in parts.items():
        for one in _of_part(part, term):
            together.setdefault((one.term, one.value), []).append((key, one))
    for held in together.values():
        (_, first), *_ = held
        if len(held) == len(parts) and not any(one.of for _, one in held):
            yield first
        else:
            yield replace(first, of=tuple(name for key, one in held for name in _named(key, one)))


def _named(key: str, one: Unsaid) -> tuple[str, ...]:
    return tuple(f"{key}.{name}" for name in one.of) or (key,)


def _first_line(model: type[RequestPart]) -> str:
    return (inspect.getdoc(model) or "").partition("\n")[0]


def _written(value: Any) -> str:
    """A value as YAML in one line; none for nothing, and for an empty list or mapping."""
    if value is None or value in ((), {}, []):
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_written(one)}' for key, one in value.items())}}}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, float):
        return f"{value:g}"
    text = str(getattr(value, "value", value))
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
