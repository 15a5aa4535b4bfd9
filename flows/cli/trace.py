"""``releasegate trace``: find the recipient whose decoys appear in a leak or among re-identified people."""

from collections.abc import Iterator
from dataclasses import asdict
from math import ceil, floor, log10
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.options import DEFAULT_WORKSPACE, ReleaseArgument, WorkspaceOption
from flows.cli.output import Blocks, answer, progress
from flows.incidents.incident_file import IncidentSource
from flows.incidents.tracing import Traced, opened_evidence, trace_incident
from flows.workspace.folders import Workspace
from flows.workspace.progress import listening
from reports.model.blocks import table
from reports.model.document import Paragraph
from tasks.core.guard import guarded
from tasks.core.plural import plural
from tasks.decoys.tracing import Hits

_LIKELY = 0.1
_LEAST_WRITTEN_OUT = 1e-9
NOTHING = "Nothing points to any recipient."


def trace(
    release: ReleaseArgument,
    incident: Annotated[
        Path, typer.Argument(help="CSV (also .gz) or Parquet file of the incident.", show_default=False)
    ],
    *,
    register_file: Annotated[
        Path | None,
        typer.Option("--register", help="Register of people; the incident holds ids of it.", show_default=False),
    ] = None,
    register_id: Annotated[
        str | None, typer.Option("--register-id", help="The register's column of ids.", show_default=False)
    ] = None,
    level: Annotated[
        float, typer.Option(help="Greatest likelihood of chance at which a recipient is named.", min=0, max=1)
    ] = 0.01,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Find the recipient that a leak came from, by the decoys in their copy.

    The incident holds quasi-identifiers in columns named as in the release, with values of any level of the
    hierarchies: a leaked file or what is left of it, or re-identified people. With --register it holds ids of people
    instead. The answer counts hits and gives the likelihood of chance; it shows no row and no value. The
    trace and its result are recorded in the ledger.
    """
    if (register_file is None) != (register_id is None):
        raise typer.BadParameter("--register and --register-id go together")
    if not 0 < level < 1:
        raise typer.BadParameter("--level must lie between 0 and 1")
    source = IncidentSource(incident, register_file, register_id or "")
    place = Workspace(workspace.resolve())
    with guarded("trace"), progress() as say, listening(say), opened_evidence(release, place) as opened:
        traced = trace_incident(*opened, source, level=level)
    return answer(_document(traced), rendered(traced))


def _document(traced: Traced) -> dict[str, Any]:
    found = traced.trace
    return {
        "release_id": traced.release_id,
        "verdict": found.verdict,
        "sentences": sentences(traced),
        "named": list(found.named),
        "suspected": list(found.suspected),
        "level": found.level,
        "by_population": found.by_population,
        "recipients": [asdict(hits) for hits in found.hits],
        "incident": {
            "kind": traced.incident.kind,
            "sha256": traced.table.sha256,
            "total": found.total,
            "ordinary": found.ordinary,
            "ambiguous": found.ambiguous,
            "outside": found.outside,
            "unreadable": dict(traced.incident.unread),
            "absent": list(traced.absent),
            "unknown_ids": traced.table.unknown,
            "repeated_ids": traced.table.repeated,
        },
        "notes": list(notes(traced)),
    }


def rendered(traced: Traced) -> Blocks:
    """The answer for the terminal: the verdict, hits by recipient, facts about the incident; no value of it."""
    found, noun = traced.trace, _noun(traced)
    pointed = found.named or found.suspected
    yield from (Paragraph(sentence, "strong" if pointed else "lead") for sentence in sentences(traced))
    if found.hits:
        hits = (
            (
                one.recipient,
                f"{one.decoy_classes} of {one.of_decoys}",
                f"{one.decoy_hits:,}",
                f"{one.kept_classes} of {one.of_kept}",
                f"{one.kept_hits:,}",
                chance(one.chance),
            )
            for one in found.hits
        )
        yield ""
        yield from table(
            "", ("recipient", ">decoy\nclasses", f">{noun}", ">kept\nclasses", f">{noun}", ">chance"), hits
        )
    counts = {
        "in decoys or kept classes of one recipient": found.total - found.ordinary - found.ambiguous - found.outside,
        "ambiguous: of several recipients": found.ambiguous,
        "ordinary: in real classes of several copies": found.ordinary,
        "outside: in no class of any copy": found.outside,
        "in all": found.total,
    }
    yield ""
    yield from table(
        "Records of the incident",
        (f"the incident's {noun}", ">"),
        ((words, f"{number:,}") for words, number in counts.items()),
        f"A recipient is named where chance is {chance(found.level)} or less; by one decoy class or by kept classes "
        "alone, weakly.",
    )
    if unread := {name: number for name, number in traced.incident.unread.items() if number}:
        yield ""
        rows = ((name, f"{number:,} of {found.total:,}") for name, number in unread.items())
        yield from table("", ("column", ">unreadable"), rows)
    yield from (Paragraph(f"note: {note}", "lead") for note in notes(traced))


def sentences(traced: Traced) -> list[str]:
    """The verdict: one sentence for each recipient that is named or suspected, the likeliest first."""
    pointed = {*traced.trace.named, *traced.trace.suspected}
    return [_sentence(traced, hits) for hits in traced.trace.hits if hits.recipient in pointed] or [NOTHING]


def _sentence(traced: Traced, hits: Hits) -> str:
    kept = f"{hits.kept_classes} of the {hits.of_kept} real classes that it alone keeps"
    weakly = "" if hits.recipient in traced.trace.named else ", but weakly"
    if hits.decoy_hits:
        also = f", and {kept} by {_number(traced, hits.kept_hits)}" if hits.kept_classes else ""
        verb = "was" if hits.decoy_classes == 1 else "were"
        alone = ", as a list of the people of one place may do" if weakly else ""
        what = f"{hits.decoy_classes} of its {hits.of_decoys} decoy classes {verb} hit by "
        what += f"{_number(traced, hits.decoy_hits)}{alone}{also}"
    else:
        what = f"no decoys were hit, and {kept} by {_number(traced, hits.kept_hits)}"
    points = f"Points to {hits.recipient}{weakly}: {what}"
    return f"{points}; a file from elsewhere would hit as often with a chance of {chance(hits.chance)}."


def chance(probability: float) -> str:
    """A likelihood in words, never below what it is: “40 %”, “1 in 3,100”, “1 in 10^12”.

    >>> chance(0.396), chance(1 / 3149), chance(2.5e-13), chance(0.0)
    ('40 %', '1 in 3,100', '1 in 10^12', 'below 1 in 10^300')
    """
    if probability >= _LIKELY:
        return f"{ceil(100 * probability)} %"
    if probability <= 0:
        return "below 1 in 10^300"
    if probability < _LEAST_WRITTEN_OUT:
        return f"1 in 10^{floor(-log10(probability))}"
    one_in = floor(1 / probability)
    unit = int(10 ** max(len(str(one_in)) - 2, 0))
    return f"1 in {one_in // unit * unit:,}"


def notes(traced: Traced) -> Iterator[str]:
    """Limits of the result, and facts about the recipients in it."""
    unknown, repeated = traced.table.unknown, traced.table.repeated
    sentences_of = {
        f"decoys were compared with other recipients' alone: {traced.without_population}; with the population as "
        "it was, fewer hits would name a recipient": traced.without_population is not None,
        f"no column of {', '.join(traced.absent)}: taken as unknown, so the result is less certain": traced.absent,
        f"{plural(unknown, 'id is', 'ids are')} missing or not in the register, and left out": unknown,
        f"{plural(repeated, 'row repeats', 'rows repeat')} an id; each person counts once": repeated,
        f"without decoys, so nothing can point to them: {', '.join(traced.unmarked)}": traced.unmarked,
    }
    yield from (sentence for sentence, applies in sentences_of.items() if applies)
    pointed = {*traced.trace.named, *traced.trace.suspected}
    never = "was never given its copy of this release: look at who else could read it"
    yield from (f"{one} {never}" for one in traced.undelivered if one in pointed)
    yield from (f"{one} has copies of another version of this release" for one in traced.earlier if one in pointed)


def _noun(traced: Traced) -> str:
    return "rows" if traced.incident.kind == "rows" else "people"


def _number(traced: Traced, number: int) -> str:
    return plural(number, "row") if traced.incident.kind == "rows" else plural(number, "person", "people")
