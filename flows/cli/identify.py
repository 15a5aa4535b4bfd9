"""``releasegate identify``: the copy that an incident's pseudonyms come from, and the people they stand for."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.options import DEFAULT_WORKSPACE, ReleaseArgument, WorkspaceOption
from flows.cli.output import Blocks, answer, progress
from flows.incidents.identifying import IdentifiedPseudonyms, PseudonymIncident, identify_pseudonyms
from flows.incidents.tracing import opened_evidence
from flows.workspace.folders import Workspace
from flows.workspace.progress import listening
from reports.model.blocks import table
from reports.model.document import Paragraph
from tasks.core.guard import guarded
from tasks.core.plural import listed, plural

NOTHING = "No pseudonym names a recipient."


def identify(
    release: ReleaseArgument,
    incident: Annotated[
        Path, typer.Argument(help="CSV (also .gz) or Parquet file of the incident.", show_default=False)
    ],
    column: Annotated[str, typer.Argument(help="Its column of pseudonyms, named as in the release.")],
    *,
    to: Annotated[
        Path | None, typer.Option("--to", help="New file for the identifiers; none are written without.")
    ] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Find the recipient whose pseudonyms are in a leak, and the people that they stand for.

    Pseudonyms name the copy that they come from: no two recipients have one in common. The answer counts them and
    shows none. With --to, the identifiers that they stand for are written to a file that its owner alone may read. The
    sealed crosswalks are opened for it; the ledger records who did so, and whether identifiers were written.
    """
    place = Workspace(workspace.resolve())
    with guarded("identification"), progress() as say, listening(say), opened_evidence(release, place) as opened:
        found = identify_pseudonyms(*opened, PseudonymIncident(incident, column, to))
    return answer(_document(found), _rendered(found))


def _document(found: IdentifiedPseudonyms) -> dict[str, Any]:
    return {
        "release_id": found.release_id,
        "verdict": found.verdict,
        "sentence": _sentence(found),
        "named": list(found.named),
        "column": found.column,
        "recipients": [asdict(one) for one in found.hits],
        "incident": {"sha256": found.incident_sha256, "total": found.pseudonyms, "unknown": found.unknown},
        "written": str(found.written) if found.written else None,
        "notes": list(_notes(found)),
    }


def _rendered(found: IdentifiedPseudonyms) -> Blocks:
    """The answer for the terminal; no pseudonym and no identifier."""
    yield Paragraph(_sentence(found), "strong" if found.named else "lead")
    if found.hits:
        yield ""
        rows = ((one.recipient, f"{one.found:,}", f"{one.alone:,}", f"{one.decoys:,}") for one in found.hits)
        yield from table(
            f"Pseudonyms of {found.column} by copy", ("recipient", ">found", ">in no other copy", ">of decoys"), rows
        )
    yield from (Paragraph(f"note: {note}", "lead") for note in _notes(found))


def _sentence(found: IdentifiedPseudonyms) -> str:
    if not found.named:
        return NOTHING
    alone = {one.recipient: one.alone for one in found.hits}
    counted = (f"the copy of {who} ({plural(alone[who], 'pseudonym')})" for who in found.named)
    return f"The incident has pseudonyms of {listed(counted)}, which no other copy has."


def _notes(found: IdentifiedPseudonyms) -> Iterator[str]:
    """Limits of the result, and where identifiers are."""
    if found.hits and not found.named:
        yield "pseudonyms that are numbers from 1 are in every copy, so that they name nobody"
    if found.unknown:
        yield f"{found.unknown:,} of {plural(found.pseudonyms, 'pseudonym')} are in no copy of this release"
    if found.written:
        yield f"identifiers are in {found.written}; remove it once they are no longer needed"
