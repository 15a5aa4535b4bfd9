"""Terms of request and policy, and those that golden requests use."""

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from tests.golden.doors import ReleaseRequest, RequestPart, request_from
from tests.golden.outputs import REQUESTS

NOT_A_RELEASE = frozenset({"refused.yaml"})
_SOME_RELEASE = b"0" * 64


def all_terms(model: type[RequestPart] = ReleaseRequest, seen: set[type] | None = None) -> Iterator[str]:
    """Every term as ``Model.term``; of one that takes a few, each value as ``Model.term=value`` or ``Kind=value``."""
    seen = set() if seen is None else seen
    if model in seen:
        return
    seen.add(model)
    for name, field in model.model_fields.items():
        yield f"{model.__name__}.{name}"
        for kind in _kinds(field.annotation):
            if isinstance(kind, type) and issubclass(kind, RequestPart):
                yield from all_terms(kind, seen)
            elif isinstance(kind, type) and issubclass(kind, Enum):
                yield from (f"{kind.__name__}={member.value}" for member in kind)
            elif get_origin(kind) is Literal:
                yield from (f"{model.__name__}.{name}={value}" for value in get_args(kind))


def used_terms() -> set[str]:
    """Terms that some golden request gives, and values that one has, given or by default."""
    return {term for path in sorted(REQUESTS.glob("*.yaml")) if path.name not in NOT_A_RELEASE for term in _used(path)}


def _used(path: Path) -> Iterator[str]:
    content = path.read_bytes().replace(b"{decoys}", _SOME_RELEASE)
    yield from _of(request_from(content, path))


def _of(value: Any) -> Iterator[str]:
    if isinstance(value, RequestPart):
        for name in type(value).model_fields:
            given = getattr(value, name)
            if name in value.model_fields_set:
                yield f"{type(value).__name__}.{name}"
            for one in given if isinstance(given, tuple) else (given,):
                if isinstance(one, Enum):
                    yield f"{type(one).__name__}={one.value}"
                elif isinstance(one, (str, int)):
                    yield f"{type(value).__name__}.{name}={one}"
            yield from _of(given)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _of(one)
    elif isinstance(value, tuple):
        for one in value:
            yield from _of(one)


def _kinds(annotation: Any) -> Iterator[Any]:
    """Types inside an annotation; a Literal stays whole."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _kinds(get_args(annotation)[0])
    elif origin in (Union, UnionType, tuple, dict):
        for one in get_args(annotation):
            yield from _kinds(one)
    else:
        yield annotation
