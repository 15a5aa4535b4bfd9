"""The manifest: which decoys and kept classes are whose, over all versions of one release; secret.

It holds all that a later version, a later recipient or a trace needs: the real classes of every version before removal,
and of each holder the decoys, the classes that it alone keeps and whatever the injection wrote of its decoys. Places
without a recipient are *seats*, planned in the first release for recipients who come later.

``tasks.decoys.sealing`` encrypts a manifest, ``tasks.decoys.tracing`` reads one. No part of it shows itself.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tasks.core.errors import ParameterError, TamperingFound
from tasks.decoys.class_table import ClassTable
from tasks.decoys.removal import Assignment, Ground
from tasks.microdata.hierarchy import Hierarchy

FORMAT = "releasegate/decoys/1"
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Holder:
    """One recipient's copies in every version."""

    recipient: str | None
    """None for a seat that is still free."""
    generalization: int
    """Number of the file that its copies are made of."""
    decoys: ClassTable = field(repr=False)
    kept: ClassTable = field(repr=False)
    """Real classes that no other copy has, as of the first version."""
    rows: Rows = field(repr=False, default=())
    """Its decoy rows, as the injection wrote them: JSON objects."""


@dataclass(frozen=True, eq=False)
class Version:
    """Real classes of one version, before any are removed."""

    release: str
    """Release id."""
    files: tuple[ClassTable, ...] = field(repr=False)
    """One table a generalization."""


@dataclass(frozen=True, eq=False)
class Manifest:
    """All holders and versions."""

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

    @property
    def free_seats(self) -> int:
        """Places that are still free."""
        return len(self.holders) - len(self.recipients)


def hierarchies_digest(hierarchies: Sequence[Hierarchy]) -> str:
    """SHA-256 of names, labels and groups of the hierarchies, in order."""
    digest = hashlib.sha256()
    for hierarchy in hierarchies:
        text = json.dumps([hierarchy.name, hierarchy.labels], ensure_ascii=True, separators=(",", ":"))
        digest.update(len(text).to_bytes(8, "big") + text.encode())
        digest.update(np.ascontiguousarray(hierarchy.groups, dtype="<i4").tobytes())
    return digest.hexdigest()


def manifest_of(
    place: Ground,
    found: Assignment,
    recipients: Sequence[str],
    release: str,
    hierarchies: Sequence[Hierarchy],
    *,
    rows: Sequence[Rows] = (),
) -> Manifest:
    """The manifest of a first version.

    Parameters
    ----------
    place : Ground
    found : Assignment
    recipients : sequence of str
        Ids of the recipients of the first shares; shares beyond are seats for later.
    release : str
        Release id.
    hierarchies : sequence of Hierarchy
    rows : sequence, optional
        Decoy rows of each share.

    Raises
    ------
    ParameterError
        If there are more recipients than shares, an id occurs twice, or there are rows for some shares only.
    """
    if len(recipients) > len(found.shares) or len(set(recipients)) < len(recipients):
        raise ParameterError(
            "recipients and shares of the decoys do not go together",
            where="recipients",
            expected=f"at most {len(found.shares)} different ids",
            got=f"{len(recipients)}, {len(set(recipients))} of them different",
            fix="assign a share for each recipient",
        )
    if rows and len(rows) != len(found.shares):
        raise ParameterError(
            "the decoy rows do not go with the shares",
            where="rows",
            expected=f"rows for each of {len(found.shares)} shares",
            got=f"for {len(rows)}",
            fix="write decoy rows for seats too: they are part of every later copy",
        )
    named = [*recipients, *[None] * (len(found.shares) - len(recipients))]
    holders = tuple(
        Holder(
            recipient=recipient,
            generalization=share.generalization,
            decoys=place.candidates[share.generalization].take(share.decoys),
            kept=place.files[share.generalization].take(share.kept),
            rows=tuple(own),
        )
        for recipient, share, own in zip(named, found.shares, rows or [()] * len(named), strict=True)
    )
    return Manifest(hierarchies_digest(hierarchies), found.ratio, (Version(release, place.files),), holders)


def canonical_bytes(manifest: Manifest) -> bytes:
    """The manifest as bytes that depend on its content alone.

    Raises
    ------
    ParameterError
        If decoy rows are not JSON objects.
    """
    document = {
        "format": FORMAT,
        "hierarchies": manifest.hierarchies,
        "ratio": manifest.ratio,
        "versions": [
            {"release": version.release, "files": [_table_lists(table) for table in version.files]}
            for version in manifest.versions
        ],
        "holders": [
            {
                "recipient": holder.recipient,
                "generalization": holder.generalization,
                "decoys": _table_lists(holder.decoys),
                "kept": _table_lists(holder.kept),
                "rows": [dict(row) for row in holder.rows],
            }
            for holder in manifest.holders
        ],
    }
    try:
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError):
        raise ParameterError(
            "decoy rows cannot be written into the manifest",
            where="rows",
            expected="texts, finite numbers, true, false and null, by column name",
            got="another kind of value",
            fix="give the rows as they stand in the delivered file",
        ) from None
    return text.encode("ascii")


def manifest_from_bytes(content: bytes) -> Manifest:
    """Read what ``canonical_bytes`` wrote.

    Raises
    ------
    TamperingFound
        If it is not the canonical form of a manifest.
    ParameterError
        If it is of a format that this version does not know.
    """
    try:
        document = json.loads(content)
        if document["format"] != FORMAT:
            raise _unknown_format()
        manifest = Manifest(
            hierarchies=str(document["hierarchies"]),
            ratio=int(document["ratio"]),
            versions=tuple(
                Version(str(version["release"]), tuple(_table(part) for part in version["files"]))
                for version in document["versions"]
            ),
            holders=tuple(
                Holder(
                    recipient=holder["recipient"],
                    generalization=int(holder["generalization"]),
                    decoys=_table(holder["decoys"]),
                    kept=_table(holder["kept"]),
                    rows=tuple(holder["rows"]),
                )
                for holder in document["holders"]
            ),
        )
        same = canonical_bytes(manifest) == content
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ParameterError):
            raise
        same = False
    if not same:
        raise TamperingFound(
            "the manifest of the decoys is not what was sealed",
            where="content of the manifest",
            expected="the canonical form of a manifest",
            got="other bytes",
            fix="restore the sealed manifest from a backup",
        )
    return manifest


def _unknown_format() -> ParameterError:
    return ParameterError(
        "the manifest of the decoys is of another format",
        where="format",
        expected=FORMAT,
        got="one that this version does not know",
        fix="use the version of releasegate that wrote it, or a later one",
    )


def _table_lists(table: ClassTable) -> dict[str, Any]:
    return {
        "attributes": int(table.cells.shape[1]),
        "cells": table.cells.tolist(),
        "records": table.records.tolist(),
        "people": table.people.tolist(),
    }


def _table(parts: Mapping[str, Any]) -> ClassTable:
    width = int(parts["attributes"])
    table = ClassTable(
        cells=np.array(parts["cells"], dtype=np.int32).reshape(-1, width),
        records=np.array(parts["records"], dtype=np.int64),
        people=np.array(parts["people"], dtype=np.int64),
    )
    if not len(table.cells) == len(table.records) == len(table.people):
        raise ValueError("tables of unequal length")
    return table
