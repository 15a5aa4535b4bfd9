"""Messages to and from workers: arrays and JSON in one block of bytes, without pickled objects.

An order says which piece of which file is to be coded, how, and which bytes and which program are meant. An answer
holds the coded part, or one word for why there is none.
"""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import StageFailed
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.parts import Part, Values

_ABOUT = "about"


@dataclass(frozen=True)
class Order:
    """One piece to be coded."""

    path: str
    groups: tuple[int, ...]
    """Row groups of the file."""
    start: int
    end: int
    sha256: str
    """Of these bytes and the footer, as the one who orders sees them."""
    program: str
    """Digest of the program that is to code them."""
    names: tuple[str, ...]
    """Columns to read."""
    by_record: tuple[str, ...] | None
    """Columns wanted record by record; None where records are only counted."""
    missing: tuple[str, ...]
    hierarchies: Mapping[str, Hierarchy]


@dataclass(frozen=True)
class Refusal:
    """Reason why a piece was not coded."""

    why: str
    """``values``, ``bytes``, ``program``, or the name of a kind of error."""


def pack_order(order: Order) -> bytes:
    """An order as bytes."""
    about = {
        **{name: value for name, value in vars(order).items() if name != "hierarchies"},
        "labels": {name: tree.labels for name, tree in order.hierarchies.items()},
    }
    return _packed(about, {f"groups_{axis}": tree.groups for axis, tree in enumerate(order.hierarchies.values())})


def unpack_order(content: bytes) -> Order:
    """The order in bytes from ``pack_order``."""
    about, arrays = _unpacked(content)
    labels = about.pop("labels")
    hierarchies = {
        name: Hierarchy(name, tuple(tuple(level) for level in levels), arrays[f"groups_{axis}"])
        for axis, (name, levels) in enumerate(labels.items())
    }
    terms: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in about.items()}
    return Order(**terms, hierarchies=hierarchies)


def pack_answer(answer: Part | Refusal) -> bytes:
    """An answer as bytes."""
    if isinstance(answer, Refusal):
        return _packed({"why": answer.why}, {})
    about = {"levels": {name: column.levels for name, column in answer.columns.items()}}
    arrays: dict[str, NDArray[Any]] = {
        "keys": answer.keys,
        "counts": answer.counts,
        "tuple_of_record": answer.tuple_of_record,
    }
    arrays |= {f"codes_{place}": column.codes for place, column in enumerate(answer.columns.values())}
    return _packed(about, arrays)


def unpack_answer(content: object) -> Part | Refusal:
    """The answer in bytes from ``pack_answer``.

    Raises
    ------
    StageFailed
        If it is not in that form.
    """
    failure = "no bytes"
    if isinstance(content, bytes):
        try:
            about, arrays = _unpacked(content)
            if "why" in about:
                return Refusal(str(about["why"]))
            return Part(
                arrays["keys"].astype(np.int64),
                arrays["counts"].astype(np.int64),
                arrays["tuple_of_record"].astype(np.int32),
                {
                    name: Values(arrays[f"codes_{place}"], tuple(levels))
                    for place, (name, levels) in enumerate(about["levels"].items())
                },
            )
        except (OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, BadZipFile) as error:
            failure = type(error).__name__
    raise StageFailed(
        "a worker's answer cannot be read",
        where="counting on several machines",
        expected="coded records, by the program that asks for them",
        got=failure,
        fix="install the same version of releasegate on all machines, and run the release again",
    )


def _packed(about: object, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    stream = io.BytesIO()
    document = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    np.savez(stream, allow_pickle=False, **{_ABOUT: document, **arrays})
    return stream.getvalue()


def _unpacked(content: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    about = json.loads(arrays.pop(_ABOUT).tobytes())
    if not isinstance(about, dict):
        raise TypeError
    return about, arrays
