"""The manifest: which decoys and kept classes are whose, over all versions of one release; secret.

It holds all that a later version, a later recipient or a trace needs: the real classes of every version before removal,
and of each holder the decoys, the classes that it alone keeps and its decoy records. Places without a recipient are
*seats*, planned in the first release for recipients who come later.

``tasks.decoys.vault`` keeps manifests encrypted, ``tasks.decoys.tracing`` reads one. No part of it shows itself.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from pydantic import PlainSerializer, PlainValidator, TypeAdapter

from tasks.core.errors import TamperingFound
from tasks.decoys.classes import ClassTable, Lineage
from tasks.decoys.origins import Origins, Roster
from tasks.microdata.hierarchy import Hierarchy

FORMAT = "releasegate/decoys/1"
Record = Mapping[str, str | None]
"""A decoy record as it stands in a delivered file: texts by column, None where missing."""


def _table(parts: Any) -> ClassTable:
    dtypes = {"cells": np.int32, "records": np.int64, "people": np.int64, "inside": np.int64}
    return ClassTable(**{name: np.array(part, dtype=dtypes[name]) for name, part in parts.items()})


def _lists(table: ClassTable) -> dict[str, Any]:
    return {name: values.tolist() for name, values in vars(table).items() if values is not None}


Table = Annotated[ClassTable, PlainValidator(_table), PlainSerializer(_lists)]


@dataclass(frozen=True, eq=False)
class Holder:
    """One recipient's copies in every version."""

    recipient: str | None
    """None for a seat that is still free."""
    generalization: int
    """Number of the file that its copies are made of."""
    decoys: Table = field(repr=False)
    kept: Table = field(repr=False)
    """Real classes that no other copy has, as of the first version."""
    rows: Sequence[Record] = field(repr=False, default=())


@dataclass(frozen=True, eq=False)
class Version:
    """Real classes of one version, before any are removed."""

    release: str
    files: tuple[Table, ...] = field(repr=False)
    """One table a generalization."""
    rosters: tuple[str, ...] = field(repr=False, default=())
    """The people of the classes of each file, as ``Roster.written``; none where no file has remainder classes."""


@dataclass(frozen=True, eq=False)
class DecoyManifest:
    """All holders and versions; cells are canonical (``tasks.decoys.classes.canonical_cells``)."""

    hierarchies: str
    """Digest of the hierarchies that give axis positions their meaning."""
    ratio: int
    """Kept classes a decoy, t."""
    versions: tuple[Version, ...]
    holders: tuple[Holder, ...] = field(repr=False)

    @property
    def recipients(self) -> tuple[str, ...]:
        """Recipients in the order in which they came."""
        return tuple(holder.recipient for holder in self.holders if holder.recipient is not None)

    def origins(self, axes: Sequence[Lineage]) -> Origins:
        """Common origins of classes; files are numbered by version first: file i of version v is v · files + i."""
        return Origins(axes, tuple(Roster.read(text) for version in self.versions for text in version.rosters))

    def records_of(self, recipient: str) -> Sequence[Record]:
        """Decoy records of a recipient's copy."""
        return next(holder.rows for holder in self.holders if holder.recipient == recipient)


_MANIFEST = TypeAdapter(DecoyManifest)


def hierarchies_digest(hierarchies: Sequence[Hierarchy]) -> str:
    """SHA-256 of names, labels and groups of the hierarchies, in order."""
    digest = hashlib.sha256()
    for hierarchy in hierarchies:
        text = json.dumps([hierarchy.name, hierarchy.labels], ensure_ascii=True, separators=(",", ":"))
        digest.update(len(text).to_bytes(8, "big") + text.encode())
        digest.update(np.ascontiguousarray(hierarchy.groups, dtype="<i4").tobytes())
    return digest.hexdigest()


def canonical_bytes(manifest: DecoyManifest) -> bytes:
    """The manifest as bytes that depend on its content alone."""
    document = {"format": FORMAT, **_MANIFEST.dump_python(manifest, mode="json")}
    for version in document["versions"]:
        if not version["rosters"]:
            del version["rosters"]
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def manifest_from_bytes(content: bytes) -> DecoyManifest:
    """Read what ``canonical_bytes`` wrote; TamperingFound where it is not the canonical form of a manifest."""
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        manifest = _MANIFEST.validate_json(content)
        if canonical_bytes(manifest) == content:
            return manifest
    raise TamperingFound(
        "the manifest of the decoys is not what was sealed",
        where="content of the manifest",
        expected=f"the canonical form of a manifest, {FORMAT}",
        got="other bytes",
        fix="restore the sealed manifest from a backup",
    )
