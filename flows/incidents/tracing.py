"""Tracing an incident: verify the bundle, open the decoy manifest, and record that it was opened.

Neither the data nor the request is needed: the hierarchies are in the bundle's evidence. The population is used if it
is still the one that was decided on; without it, decoys are compared only with each other. The manifest of a release in
remainder classes has the people itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from flows.incidents.incident_file import IncidentSource, IncidentTable, read_incident
from flows.releases.recall import find_bundle, request_of
from flows.workspace.actor import Clock, actor, utc_now
from flows.workspace.folders import Workspace
from flows.workspace.ledger import open_ledger, recorder_of
from flows.workspace.progress import step
from tasks.core.errors import BadInput, ReleasegateError, TamperingFound
from tasks.core.files import file_sha256
from tasks.core.guard import guarded
from tasks.core.plural import plural
from tasks.decision.record import DecisionRecord
from tasks.decoys.classes import lineages
from tasks.decoys.manifest import DecoyManifest, hierarchies_digest
from tasks.decoys.tracing import Incident, Trace, incident_of_labels, trace
from tasks.decoys.vault import Vault
from tasks.delivery.verification import verify_bundle
from tasks.generalization.game.safe_harbor import SafeHarborAxis, safe_harbor_axis
from tasks.generalization.game.zip3 import zip_table
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.microdata.build import arx_file, build_hierarchies, read_arx
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.read import read_population
from tasks.microdata.tuples import Tuples, distinct_tuples, encode
from tasks.request.model import Role, SafeHarborRule

HIERARCHIES = Path("evidence") / "hierarchies"


@dataclass(frozen=True)
class Traced:
    """Result of a trace, with facts about the incident; counts and column names only."""

    release_id: str
    trace: Trace
    incident: Incident
    table: IncidentTable
    absent: tuple[str, ...]
    """Quasi-identifiers of the release for which the incident has no column."""
    undelivered: tuple[str, ...]
    """Recipients of this release with decoys who were never given their copy."""
    earlier: tuple[str, ...]
    """Recipients who hold copies of an earlier version, but none of this one."""
    unmarked: tuple[str, ...]
    """Recipients of this release whose copies have no decoys."""
    without_population: str | None
    """Reason that the population was not used; None where it was."""


@contextmanager
def opened_evidence(reference: str, workspace: Workspace) -> Iterator[tuple[Path, Ledger, Vault]]:
    """Bundle that a reference names, and ledger and vault of the workspace that it was made in."""
    bundle = find_bundle(reference, workspace)
    recorder = recorder_of(bundle, workspace)
    with open_ledger(recorder) as ledger:
        yield bundle, ledger, Vault.beside(recorder.key_file)


@contextmanager
def recorded(ledger: Ledger, release_id: str, asked: Mapping[str, object], clock: Clock) -> Iterator[dict[str, object]]:
    """Record in the ledger that sealed material is opened for an incident, and the outcome.

    The block fills in the outcome; an error is recorded as a refusal, with its reason.
    """
    outcome: dict[str, object] = {"verdict": "refused"}
    try:
        yield outcome
    except ReleasegateError as error:
        outcome["reason"] = error.what
        raise
    finally:
        body = {**asked, **outcome}
        ledger.append(Event.TRACED, release_id=release_id, recipient=None, actor=actor(), body=body, at=clock())


def trace_incident(
    bundle: Path,
    ledger: Ledger,
    vault: Vault,
    source: IncidentSource,
    *,
    level: float = 0.01,
    clock: Clock = utc_now,
) -> Traced:
    """Find the recipients that an incident points to.

    1. The bundle must be what was sealed, and what the ledger records; its records must commit to a manifest.
    2. The incident is read against the hierarchies of the bundle.
    3. The population is read if it is still the one that was decided on.
    4. The manifest is opened and must be the one that was committed to. From here on, the
       outcome is recorded in the ledger before it is reported.

    Ledger and vault are those of the workspace that the release was made in. `level`, between 0 and 1, is the greatest
    likelihood of chance at which a recipient is named.
    Raises BadInput if the release has no decoys, the incident cannot be used, or the manifest cannot be opened;
    TamperingFound if bundle, ledger or manifest are not as recorded.
    """
    step("verifying the bundle")
    report = verify_bundle(bundle, ledger)
    records = tuple(report.records.values())
    commitment = _commitment(records, bundle)
    names = [field.name for field in records[0].fields if field.role == Role.QUASI.value]
    hierarchies = {name: read_arx(name, bundle / HIERARCHIES / arx_file(name)) for name in names}
    groups = safe_harbor_groups(records, hierarchies)
    axes = lineages(
        list(hierarchies.values()), [group.positions if group.extra_labels else None for group in groups.values()]
    )
    step("reading the incident")
    read = read_incident(source, tuple(hierarchies))
    outside = {name: group.extra_labels for name, group in groups.items() if group.extra_labels}
    incident = incident_of_labels(read.frame, hierarchies, axes, source.kind, source.path.name, outside=outside)
    step("reading the population")
    population, reason = _population(records[0], hierarchies, ledger, Workspace(bundle.resolve().parent.parent))
    step("opening the manifest")
    asked = {"kind": incident.kind, "incident_sha256": read.sha256, "total": incident.total}
    with recorded(ledger, report.release_id, asked, clock) as outcome:
        with guarded("trace"):
            manifest = _opened(vault, report.release_id, commitment, list(hierarchies.values()))
            found = trace(manifest, axes, incident, population, level=level)
        outcome |= {
            "verdict": found.verdict,
            "named": list(found.named),
            "suspected": list(found.suspected),
            "level": found.level,
        }
    here = {record.recipient.id for record in records}
    return Traced(
        release_id=report.release_id,
        trace=found,
        incident=incident,
        table=read,
        absent=tuple(name for name in hierarchies if name not in read.frame.columns),
        undelivered=tuple(one for one in manifest.recipients if one in here and one not in report.delivered),
        earlier=tuple(one for one in manifest.recipients if one not in here),
        unmarked=tuple(record.recipient.id for record in records if record.recipient.id not in manifest.recipients),
        without_population=None if found.by_population else reason,
    )


def _commitment(records: Sequence[DecisionRecord], bundle: Path) -> str:
    """Commitment to the one manifest of decoys of a release."""
    committed = [record.decoys.commitment_sha256 for record in records if record.decoys is not None]
    if committed:
        return committed[0]
    raise BadInput(
        "the release has no decoys, so nothing can be traced to its recipients",
        where=str(bundle),
        expected="a decision record that commits to a manifest of decoys",
        got=f"{plural(len(records), 'record')} without",
        fix="request decoys next time; delivered copies cannot be marked afterwards"
        + ("; look its pseudonyms up with releasegate identify" if any(one.pseudonyms for one in records) else ""),
    )


def safe_harbor_groups(
    records: Sequence[DecisionRecord], hierarchies: Mapping[str, Hierarchy]
) -> dict[str, SafeHarborAxis]:
    """Safe Harbor's groups of each quasi-identifier, some of which no hierarchy has.

    Raises BadInput if such groups come from another table of ZIP codes than the one that the release was made with.
    """
    record = records[0]
    rules = {field.name: SafeHarborRule(field.safe_harbor) for field in record.fields if field.name in hierarchies}
    table = zip_table()
    groups = {name: safe_harbor_axis(tree, rules[name], table) for name, tree in hierarchies.items()}
    by_zip = [name for name, rule in rules.items() if rule is SafeHarborRule.ZIP and groups[name].extra_labels]
    used = {one.risk.zip_table.sha256 for one in records if one.risk and one.risk.zip_table}
    if by_zip and used != {table.sha256}:
        raise BadInput(
            "the Safe Harbor table of ZIP codes is not the one that the release was made with",
            where=f"attribute {', '.join(by_zip)}",
            expected="the table whose SHA-256 is in the record",
            got="a different table",
            fix=f"trace with version {record.code.version} of releasegate, commit {record.code.commit[:12]}",
        )
    return groups


def _population(
    record: DecisionRecord, hierarchies: Mapping[str, Hierarchy], ledger: Ledger, workspace: Workspace
) -> tuple[Tuples | None, str | None]:
    """Tuples of the population; or none, and the reason."""
    try:
        with guarded("population"):
            loaded, _ = request_of(record, ledger, workspace)
            named = loaded.request.population.path
            if named is None:
                return None, "people were counted in the file"
            path = loaded.resolve(named, "population.path")
            if file_sha256(path) != record.population.sha256:
                return None, "the population changed since the decision"
            values, counts = read_population(path, loaded.request.population, tuple(hierarchies))
            trees = list(hierarchies.values())
            present = counts > 0
            cut = any(loaded.request.attributes[name].level for name in hierarchies)
            for name, tree in build_hierarchies(loaded, values).items() if cut else ():
                if tree.values:  # the bundle's hierarchies begin at the same level, and do not know the values below
                    leaf = tree.encode(values[name].to_numpy(dtype=object))
                    values[name] = values[name].mask(leaf >= 0, pd.Series(np.array(tree.labels[0])[leaf], values.index))
            codes = encode(values, hierarchies, path.name, groups=True)[present]
            people, _ = distinct_tuples(codes, trees, counts[present])
    except ReleasegateError as error:
        return None, error.what
    return people, None


def _opened(vault: Vault, release_id: str, commitment: str, hierarchies: Sequence[Hierarchy]) -> DecoyManifest:
    manifest = vault.open(release_id, commitment)
    if manifest.hierarchies != hierarchies_digest(hierarchies):
        raise TamperingFound(
            "the hierarchies of the bundle are not those that the decoys were placed by",
            where=str(HIERARCHIES),
            expected="the hierarchies that the sealed manifest names",
            got="different hierarchies",
            fix="restore the bundle from a backup",
        )
    return manifest
