"""Data kept of a release so that it can be assessed again: how it was made, and names without a meaning.

One sealed file a copy, from the moment of release. It holds

* the request, byte for byte, since its file may change or go;
* the hierarchies and the rule: the released cell of every combination of values of the population of that day;
* the cells of the released records, in the order of the data's distinct tuples, without their values;
* a name for the person of each released record, which only the workspace's key can make from the record id, so that
  releases of several files can be laid beside each other;
* the clear file, where the recipient gets it encrypted: nothing else could ever be read of those bytes again; or in
  several tables: their rows side by side, as they were scored.

The originals are not kept. Copies of a release with decoys are sealed with a key that follows from the manifest of its
decoys, since the number of real records gives the number of decoys.
"""

import hashlib
import hmac
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.candidate.candidate import Candidate
from tasks.core.errors import unreadable_intermediate
from tasks.core.files import opened_arrays, packed_arrays
from tasks.core.seed import derive_seed
from tasks.decision.decoy_facts import DecoyFact
from tasks.decoys.vault import Vault
from tasks.generalization.game.count_index import Generalization
from tasks.generalization.generalization_file import load_generalization, save_generalization
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Tuples

NAME_BYTES = 16
_AT_ONCE = 100_000
"""Record ids that are looked at one by one, and take far more room then than as a column."""
_OF_ROWS = ("person_of_row", "row", "table_of_row")
_REQUEST, _GENERALIZATION, _RULE, _CLEAR = "request.yaml", "played.npz", "rule.npz", "clear"

Names = NDArray[np.bytes_]
"""One opaque name a record, shape (n_records,)."""


@dataclass(frozen=True)
class Kept:
    """Data kept of one recipient's copy."""

    request: bytes
    """The request's document."""
    hierarchies: dict[str, Hierarchy]
    axis_labels: tuple[tuple[str, ...], ...]
    """Label at each axis position, Safe Harbor's own groups included."""
    grouped: tuple[Codes, ...]
    """Axis position that Safe Harbor gives each value of each axis."""
    population: Tuples
    """The population at the release, in leaf codes of these hierarchies."""
    generalization: Generalization
    """The cells, as the copy was made; its arrays follow the data's distinct tuples at the release."""
    released: NDArray[np.bool_]
    """Whether each of these tuples' records was released."""
    people: Names
    """Names of the people of the released records, in the order of the data."""
    clear: bytes | memoryview | None
    """The file as it was scored, before it was encrypted or cut into tables; None where it is delivered as it was."""
    person_of_row: NDArray[np.int32] | None = None
    """Place among these people of each released row, in the order of the data; None where a person has one row."""
    row: NDArray[np.int32] | None = None
    """Position in the data of each of these rows; None where the data are one table."""
    table_of_row: NDArray[np.int8] | None = None
    """Number of the table of each of these rows; None where the data are one table."""

    @classmethod
    def of(cls, candidate: Candidate, request: bytes, key_file: Path, clear: bytes | memoryview | None) -> Self:
        """Data to keep of a copy that was just made."""
        index = candidate.index
        ids, events = candidate.frame[candidate.request.person_id].iloc[candidate.rows], candidate.prepared.events
        tables = None if events is None else events.tables
        leaving = np.flatnonzero(candidate.leaves)
        return cls(
            request=request,
            hierarchies={hierarchy.name: hierarchy for hierarchy in index.hierarchies},
            axis_labels=index.axis_labels,
            grouped=tuple(axis.positions for axis in index.safe_harbor),
            population=index.population,
            generalization=candidate.generalization,
            released=candidate.released,
            people=names_of(ids, key_file),
            clear=clear,
            person_of_row=None if events is None else persons_released(events.of_row[leaving], candidate.rows),
            row=None if tables is None else leaving.astype(np.int32),
            table_of_row=None if tables is None else tables.of_row[leaving],
        )


def persons_released(person_of_row: NDArray[np.int32], released: NDArray[np.intp]) -> NDArray[np.int32]:
    """Place among the released persons, ascending, of the person of each of their rows, in the order of the file."""
    place = np.full(int(person_of_row.max(initial=-1)) + 1, -1, dtype=np.int32)
    place[released] = np.arange(len(released), dtype=np.int32)
    found = place[person_of_row]
    return found[found >= 0]


def kept_key(key_file: Path, release_id: str, recipient: str) -> bytes:
    """Key of what is kept of a copy, 32 bytes; raises as ``Vault.order_seed`` where the release has decoys."""
    vault = Vault.beside(key_file)
    if vault.place(release_id).exists():
        return hmac.digest(vault.order_seed(release_id, recipient), b"re-assessment", "sha256")
    return derive_seed(key_file, release_id, f"re-assessment {recipient}")


def decoys_and_order(
    key_file: Path, release_id: str, recipient: str, decoys: DecoyFact | None
) -> tuple[Sequence[Mapping[str, str | None]], bytes]:
    """Decoy records of a copy, from the sealed manifest that its record commits to, and the seed of its row order.

    Raises as ``Vault.open`` where the copy has decoys.
    """
    if decoys is None:
        return (), derive_seed(key_file, release_id, f"row order {recipient}")
    vault = Vault.beside(key_file)
    manifest = vault.open(release_id, decoys.commitment_sha256)
    return manifest.records_of(recipient), vault.order_seed(release_id, recipient)


def names_of(ids: pd.Series, key_file: Path) -> Names:
    """A name for each record's person: equal for equal record ids in all releases of a workspace.

    Without the workspace's key nobody can make one, or learn whose it is.
    """
    key = derive_seed(key_file, "re-assessment", "people")
    keyed = hashlib.blake2b(digest_size=NAME_BYTES, key=key)

    def name(record_id: object) -> bytes:
        own = keyed.copy()  # takes the key once for all
        own.update(str(record_id).encode())
        return own.digest()

    parts = (ids.iloc[start : start + _AT_ONCE].to_numpy() for start in range(0, len(ids), _AT_ONCE))
    made = b"".join(name(one) for part in parts for one in part)
    return np.frombuffer(made, dtype=f"S{NAME_BYTES}")


def packed(kept: Kept) -> dict[str, bytes | memoryview]:
    """The kept data as files in memory, without pickled objects."""
    generalization = io.BytesIO()
    save_generalization(kept.generalization, generalization)
    labels = {name: hierarchy.labels for name, hierarchy in kept.hierarchies.items()}
    arrays: dict[str, Any] = {
        "labels": _text(labels),
        "values": _text({name: hierarchy.values for name, hierarchy in kept.hierarchies.items() if hierarchy.values}),
        "axis_labels": _text(kept.axis_labels),
        "population_codes": kept.population.codes,
        "population_counts": kept.population.counts,
        "population_keys": kept.population.keys,
        "released": kept.released,
        "people": np.frombuffer(kept.people.tobytes(), dtype=np.uint8),
        **{name: rows for name in _OF_ROWS if (rows := getattr(kept, name)) is not None},
        **{f"groups_{axis}": tree.groups for axis, tree in enumerate(kept.hierarchies.values())},
        **{f"grouped_{axis}": positions for axis, positions in enumerate(kept.grouped)},
    }
    members: dict[str, bytes | memoryview] = {
        _REQUEST: kept.request,
        _GENERALIZATION: generalization.getbuffer(),
        _RULE: packed_arrays(arrays),
    }
    return members if kept.clear is None else {**members, _CLEAR: kept.clear}


def unpacked(members: Mapping[str, bytes]) -> Kept:
    """Read back the members that ``packed`` made; StageFailed where they are not in the form of this version."""
    try:
        with opened_arrays(io.BytesIO(members[_RULE])) as arrays:
            labels: Mapping[str, Sequence[Sequence[str]]] = json.loads(arrays["labels"].tobytes())
            held = json.loads(arrays["values"].tobytes()) if "values" in arrays else {}
            return Kept(
                request=members[_REQUEST],
                hierarchies={
                    name: Hierarchy.stored(name, levels, arrays[f"groups_{axis}"], held.get(name, ()))
                    for axis, (name, levels) in enumerate(labels.items())
                },
                axis_labels=tuple(map(tuple, json.loads(arrays["axis_labels"].tobytes()))),
                grouped=tuple(arrays[f"grouped_{axis}"] for axis in range(len(labels))),
                population=Tuples(
                    arrays["population_codes"].astype(np.int32),
                    arrays["population_counts"].astype(np.int64),
                    arrays["population_keys"].astype(np.int64),
                ),
                generalization=load_generalization(io.BytesIO(members[_GENERALIZATION])),
                released=arrays["released"],
                people=np.frombuffer(arrays["people"].tobytes(), dtype=f"S{NAME_BYTES}"),
                clear=members.get(_CLEAR),
                **{name: arrays.get(name) for name in _OF_ROWS},
            )
    except (OSError, ValueError, LookupError, EOFError, RuntimeError, TypeError, AttributeError, BadZipFile) as error:
        raise unreadable_intermediate("what was kept of the release", "delivery", error) from None


def _text(document: object) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)
