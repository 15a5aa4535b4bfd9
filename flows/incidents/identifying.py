"""Pseudonyms of an incident: their copy, and the people they stand for, by the sealed crosswalks of a release.

Two recipients have no pseudonym in common, except numbers from 1, so that a pseudonym names the copy it comes from.
Identifiers are written only to a private file, and only if that is asked for; the ledger records it first.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from flows.incidents.incident_file import IncidentSource, IncidentTable, read_incident
from flows.incidents.tracing import recorded
from flows.workspace.actor import Clock, utc_now
from flows.workspace.progress import step
from tasks.core.errors import BadInput, DataError, WorkspaceError
from tasks.core.files import write_new
from tasks.core.guard import guarded
from tasks.decision.record import DecisionRecord, PseudonymFact
from tasks.decoys.vault import Vault
from tasks.delivery.formula_marks import marked
from tasks.delivery.verification import verify_bundle
from tasks.ledger.store import Ledger

_HEADER = ("recipient", "pseudonym", "identifier", "decoy")
Copies = Mapping[str, Mapping[str, str | None]]
"""By recipient, the identifier that each pseudonym of its copy stands for, None for a decoy's."""


@dataclass(frozen=True)
class PseudonymIncident:
    """A file with pseudonyms."""

    path: Path
    column: str
    """Its column of pseudonyms, named as in the release; of several tables also as table.column."""
    to: Path | None = None
    """New file for the identifiers; None where none are asked for."""


@dataclass(frozen=True)
class PseudonymHits:
    """Pseudonyms of an incident that are of one recipient's copy; counts only."""

    recipient: str
    found: int
    alone: int
    """Pseudonyms found that no other copy of the release has."""
    decoys: int
    """Pseudonyms found that are of decoys."""


@dataclass(frozen=True)
class IdentifiedPseudonyms:
    """Evidence from the pseudonyms of an incident; counts only."""

    release_id: str
    column: str
    incident_sha256: str
    pseudonyms: int
    """Different pseudonyms in the incident."""
    unknown: int
    """Different pseudonyms that are in no copy."""
    hits: tuple[PseudonymHits, ...]
    """Hits of each recipient who has any, most first."""
    named: tuple[str, ...]
    """Recipients whose copies alone have some; none where pseudonyms are numbers from 1, which every copy has."""
    written: Path | None
    """File that identifiers were written to."""

    @property
    def verdict(self) -> Literal["pseudonyms", "nothing"]:
        """Basis of the answer."""
        return "pseudonyms" if self.named else "nothing"


def identify_pseudonyms(
    bundle: Path,
    ledger: Ledger,
    vault: Vault,
    incident: PseudonymIncident,
    *,
    clock: Clock = utc_now,
) -> IdentifiedPseudonyms:
    """Find the recipients whose pseudonyms an incident has.

    1. The bundle must be what was sealed, and what the ledger records; some record must commit to a crosswalk with the
       column.
    2. The incident is read.
    3. The crosswalks are opened and must be those that were committed to. From here on, the outcome is recorded in the
       ledger before it is reported.
    4. With `incident.to`, a new file of that name is written, readable by its owner alone: identifiers by pseudonym.

    Raises BadInput if the release has no such pseudonyms, or the incident, the file or a crosswalk cannot be used;
    TamperingFound if bundle, ledger or crosswalk are not as recorded.
    """
    step("verifying the bundle")
    report = verify_bundle(bundle, ledger)
    records = tuple(report.records.values())
    column, header = _names(records, incident.column)
    terms, incident = _terms(records, column, bundle), replace(incident, column=header)
    step("reading the incident")
    read = read_incident(IncidentSource(incident.path), (incident.column,))
    shown = _pseudonyms(read, incident)
    if incident.to is not None and incident.to.exists():
        raise _not_written(incident.to, "a file of that name")
    step("opening the crosswalks")
    asked = {"kind": "pseudonyms", "incident_sha256": read.sha256, "total": len(shown), "named": list[str]()}
    with recorded(ledger, report.release_id, asked, clock) as outcome:
        with guarded("identification"):
            copies = {
                who: vault.open_crosswalk(report.release_id, who, commitment).identifiers(column)
                for who, (_, commitment) in terms.items()
            }
        hits = _hits(copies, shown)
        naming = [one.recipient for one in hits if one.alone and not _from_one(terms[one.recipient][0])]
        verdict = "pseudonyms" if naming else "nothing"
        outcome |= {
            "verdict": verdict if incident.to is None else f"{verdict}, identifiers written",
            "named": naming,
        }
    if incident.to is not None:
        _write(incident.to, copies, shown)
    return IdentifiedPseudonyms(
        release_id=report.release_id,
        column=column,
        incident_sha256=read.sha256,
        pseudonyms=len(shown),
        unknown=sum(not any(one in copy for copy in copies.values()) for one in shown),
        hits=hits,
        named=tuple(naming),
        written=incident.to,
    )


def _names(records: Sequence[DecisionRecord], named: str) -> tuple[str, str]:
    """Name of a column of pseudonyms in the records, and in a file of its table."""
    columns = {fact.column for one in records if one.pseudonyms for fact in one.pseudonyms.columns}
    of_tables = {f"{table.name}.{table.key}": str(table.key) for one in records for table in one.dataset.tables}
    matching = [name for name, own in of_tables.items() if own == named and name in columns]
    column = matching[0] if named not in columns and len(matching) == 1 else named
    return column, of_tables.get(column, named)


def _terms(records: Sequence[DecisionRecord], column: str, bundle: Path) -> dict[str, tuple[PseudonymFact, str]]:
    """Terms of the column's pseudonyms and commitment to the crosswalk, by recipient."""
    stated = [(one.recipient.id, one.pseudonyms) for one in records if one.pseudonyms is not None]
    found = {
        who: (fact, pseudonyms.crosswalk_sha256)
        for who, pseudonyms in stated
        if pseudonyms.crosswalk_sha256 is not None
        for fact in pseudonyms.columns
        if fact.column == column
    }
    if found:
        return found
    names = dict.fromkeys(fact.column for _, pseudonyms in stated for fact in pseudonyms.columns)
    raise BadInput(
        "no copy of the release has pseudonyms in this column",
        where=str(bundle),
        expected=f"one of the columns {', '.join(names)}" if names else "a release with columns of pseudonyms",
        got=f"{column}" if names else "none",
        fix="name a column of pseudonyms; copies of a release that was blocked were never written",
    )


def _pseudonyms(read: IncidentTable, incident: PseudonymIncident) -> list[str]:
    """The different pseudonyms of an incident, in their order."""
    column = incident.column
    times = list(read.frame.columns).count(column)
    if times != 1:
        raise DataError(
            "the incident has no column of these pseudonyms",
            where=incident.path.name,
            expected=f"the column {column} once",
            got=f"{times} times",
            fix="name the column of the incident as in the release",
        )
    return list(dict.fromkeys(read.frame[column].dropna().str.strip()))


def _hits(copies: Copies, shown: Sequence[str]) -> tuple[PseudonymHits, ...]:
    holders = {one: [who for who, copy in copies.items() if one in copy] for one in shown}
    found = (
        PseudonymHits(
            recipient=who,
            found=sum(who in having for having in holders.values()),
            alone=sum(having == [who] for having in holders.values()),
            decoys=sum(copy[one] is None for one, having in holders.items() if who in having),
        )
        for who, copy in copies.items()
    )
    return tuple(sorted((one for one in found if one.found), key=lambda one: (-one.alone, -one.found, one.recipient)))


def _from_one(terms: PseudonymFact) -> bool:
    """Whether pseudonyms are numbers from 1, which other copies have as well."""
    return terms.format == "integer" and terms.project is None


def _write(path: Path, copies: Copies, shown: Sequence[str]) -> None:
    """Write a private table of the identifiers, text marked against formulas."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(_HEADER)
    for who, copy in copies.items():
        for one in shown:
            if one in copy:
                identifier = copy[one]
                writer.writerow((who, one, "" if identifier is None else marked(identifier), int(identifier is None)))
    try:
        write_new(path, lines.getvalue().encode())
    except OSError as error:
        raise _not_written(path, error.strerror or type(error).__name__) from None


def _not_written(path: Path, got: str) -> WorkspaceError:
    return WorkspaceError(
        "identifiers cannot be written",
        where=str(path),
        expected="a new file in a folder that you may write to",
        got=got,
        fix="name another file with --to",
    )
