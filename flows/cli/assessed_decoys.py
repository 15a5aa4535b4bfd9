"""Computation and output of ``releasegate assess decoys``: room, recipients, costs, and how decoys would stand."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from flows.cli.randomness import generator_of_its_own
from flows.cli.tables import between, listing, untitled_table
from reports import numbers
from tasks.candidate.candidate import Candidate
from tasks.candidate.source import CandidateSource
from tasks.core.errors import ParameterError, StageFailed
from tasks.decision.decoy_facts import CollusionFact, DecoyFact, DetectabilityFact
from tasks.decoys.planning import copies_to_mark
from tasks.decoys.prospect import RatioCost, Room, Supported, ratio_costs, room_table, supported
from tasks.decoys.stage import plant
from tasks.request.model import DecoyTerms, ReleaseRequest

_ASSUMED = DecoyTerms(classes=2)
_NO_RELEASE = "0" * 64
NOTE = "drawn with randomness of its own; a release has other decoys"


def assess_decoys(source: CandidateSource, chosen: Sequence[str]) -> tuple[dict[str, Any], list[RenderableType]]:
    """Work out what decoys a release could have; they concern all recipients together, whichever of them are shown.

    Parameters
    ----------
    source : CandidateSource
    chosen : sequence of str
        Recipients to show.

    Returns
    -------
    document : dict
        For programs.
    tables : list
        For people.

    Raises
    ------
    StageFailed
        If the method gives no recipient with decoys a copy.
    """
    terms_assumed = not any(recipient.decoys for recipient in source.request.recipients)
    candidates, without_copy = _candidates(source, _ASSUMED if terms_assumed else None)
    request = candidates[0].request
    chosen = [name for name in chosen if name not in without_copy]
    with_terms = [one for one in copies_to_mark(candidates) if one.classes]
    each = with_terms[0].classes
    table = room_table(candidates[0], with_terms[0].band)
    paid = ratio_costs(candidates, generator_of_its_own)
    refused, facts = "", dict[str, DecoyFact]()
    try:
        facts = plant(candidates, _NO_RELEASE, None, generator_of_its_own).facts
    except (ParameterError, StageFailed) as error:
        refused = error.in_one_line()
    able: dict[str, Supported | str] = {}
    for one in with_terms:
        try:
            able[one.recipient] = supported(candidates, one, generator_of_its_own("offer"))
        except ParameterError as error:
            able[one.recipient] = error.in_one_line()
    shown = [one for one in with_terms if one.recipient in chosen]
    document = {
        "note": NOTE,
        "terms_assumed": terms_assumed,
        "refused": refused,
        "without_copy": without_copy,
        "room": [{**asdict(row), "recipients": row.in_band // each} for row in table],
        "costs": [asdict(cost) for cost in paid],
        "recipients": {
            one.recipient: {
                "supported": asdict(found) if isinstance(found := able[one.recipient], Supported) else None,
                "decoys": facts[one.recipient].model_dump(mode="json", exclude={"commitment_sha256", "statistics"})
                if one.recipient in facts
                else None,
            }
            for one in shown
        },
    }
    parts: list[RenderableType] = [_room_table(table, each, request), _cost_table(paid, len(with_terms))]
    alike = [
        [one.recipient for one in shown if one.offer == offer] for offer in dict.fromkeys(one.offer for one in shown)
    ]
    for names in alike:
        one = next(one for one in shown if one.recipient == names[0])
        parts.append(_supported_text(", ".join(names), one.classes, able[names[0]], request))
    parts += [Text(f"{name} has no copy: {why}") for name, why in without_copy.items()]
    if refused:
        parts.append(Text(f"Decoys cannot be had on these terms: {refused}"))
    for number, names in enumerate(alike):
        if names[0] in facts:
            parts += _fact_tables(", ".join(names), facts[names[0]], first=number == 0)
    none = [name for name in chosen if name not in {one.recipient for one in shown}]
    if none:
        parts.append(Text(f"{', '.join(none)}: no decoys are asked for."))
    notes = [NOTE.capitalize() + "."]
    if request.continues:
        notes.append("The request continues a release, whose decoys stay; these are those of a first version.")
    if terms_assumed:
        notes.append(f"No recipient asks for decoys; {_ASSUMED.classes} decoy classes each are assumed.")
    return document, [*parts, Text(" ".join(notes))]


def _candidates(source: CandidateSource, assumed: DecoyTerms | None) -> tuple[list[Candidate], dict[str, str]]:
    """The copies before decoys, and the reason for each recipient whom the method gives none."""
    recipients = source.request.recipients
    if assumed is not None:
        recipients = tuple(one.model_copy(update={"decoys": assumed}) for one in recipients)
    request = source.request.model_copy(update={"recipients": recipients})
    candidates, failed = list[Candidate](), dict[str, StageFailed]()
    for one in recipients:
        try:
            candidate = replace(source.candidate(one), request=request)
            _ = candidate.released
            candidates.append(candidate)
        except StageFailed as error:
            failed[one.id] = error
    if not any(candidate.recipient.decoys for candidate in candidates):
        raise next(iter(failed.values()))
    return candidates, {name: error.in_one_line() for name, error in failed.items()}


def _room_table(table: Sequence[Room], each: int, request: ReleaseRequest) -> RenderableType:
    shown = untitled_table((), ("k", "limit", "levels", "classes", "near k", "minLink", "paper's", "strict", "band"))
    shown.add_column("recipients", justify="right")
    for row in table:
        figures = (row.classes, row.close_to_minimum, row.least_linked, row.published)
        shown.add_row(
            str(row.k),
            numbers.percent(row.suppression_limit),
            "".join(map(str, row.levels)) if max(row.levels) < 10 else " ".join(map(str, row.levels)),
            *("–" if figure is None else f"{figure:,}" for figure in figures),
            f"{row.riskier:,}",
            f"{row.in_band:,}",
            f"{row.in_band // each:,}",
        )
    return between(
        "Room that k-anonymous releases leave for decoys",
        shown,
        f"levels of {', '.join(request.quasi_identifiers)} at the optimum by Loss; near k: classes of k to 1.1 k; "
        "minLink: fewest people a class links to; paper's: its candidates; strict: those without any record; band: "
        f"cells without any record in the band of risk factors; recipients: at {each} decoy classes each",
    )


def _cost_table(paid: Sequence[RatioCost], recipients: int) -> RenderableType:
    rows = (
        (
            str(cost.ratio),
            numbers.percent(1 / (1 + cost.ratio)),
            cost.why_not if cost.optimal is None else f"{'' if cost.proven else '≤ '}{cost.optimal:,}",
        )
        for cost in paid
    )
    return listing(
        f"Records that the worst-off of the copies misses, {recipients} with decoys",
        (),
        ("t", "P(decoy)", "records"),
        rows,
        "t: real classes that one copy alone keeps, for each decoy class; P(decoy): of what stands alone, to who "
        "compares copies",
    )


def _supported_text(who: str, classes: int, found: Supported | str, request: ReleaseRequest) -> Text:
    if isinstance(found, str):
        return Text(f"{who}: no decoys can be offered. {found}")
    return Text(
        f"{who}: {found.recipients:,} recipients of this generalization could have {classes} decoy classes each at "
        f"t = {request.policy.decoys.kept_per_decoy} (what limits: {found.limit})."
    )


def _fact_tables(who: str, fact: DecoyFact, *, first: bool) -> list[RenderableType]:
    parts: list[RenderableType] = [_collusion(fact.collusion, fact.planned_probability)] if first else []
    if fact.detectability is None:
        return [*parts, Text(f"{who}: too few cells to measure whether decoys can be told from real classes.")]
    return [*parts, _detection(who, fact.detectability)]


def _collusion(facts: Sequence[CollusionFact], planned: float | None) -> RenderableType:
    rows = (
        (
            str(one.colluders),
            *map(numbers.percent, (one.probability, one.worst, one.informed, one.worst_informed)),
        )
        for one in facts
    )
    caption = "" if planned is None else f"planned for two and more: {numbers.percent(planned)}"
    headings = ("colluders", "mean", "worst", "with population", "worst")
    return listing("Probability that a class is a decoy, to who compares copies", (), headings, rows, caption)


def _detection(who: str, fact: DetectabilityFact) -> RenderableType:
    return listing(
        f"{who}: whether decoys can be told from real classes",
        ("what it sees", "classifier"),
        ("area", "95 % interval"),
        ((one.view, one.classifier, f"{one.area:.3f}", f"{one.low:.3f}–{one.high:.3f}") for one in fact.tried),
        f"area under the curve, 0.5 is guessing; {fact.decoys} decoy and {fact.real_classes:,} real classes",
    )
