"""Computation and output of ``releasegate assess decoys``: room, recipients, costs, and detectability."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from flows.actions.randomness import generator_of_its_own
from reports.model import numbers
from reports.model.blocks import table
from reports.model.document import DASH, Block, Heading, Paragraph, findings
from reports.sections.decoys import collusion, detectability
from tasks.candidate.candidate import Candidate, CandidateSource
from tasks.core.errors import ParameterError, StageFailed
from tasks.core.plural import plural
from tasks.decision.decoy_facts import DecoyFact, DetectabilityFact
from tasks.decoys.planning import CopyToMark, copies_to_mark
from tasks.decoys.prospect import (
    QUANTILES,
    SAMPLES,
    RatioCost,
    Room,
    SampledRoom,
    Spread,
    Supported,
    ratio_costs,
    room_table,
    sampled_rooms,
    supported,
)
from tasks.decoys.scarcity import Crowding, crowding
from tasks.decoys.stage import plant
from tasks.request.model import DecoyTerms, PopulationBasis, ReleaseRequest

_ASSUMED = DecoyTerms(classes=2)
_NO_RELEASE = "0" * 64
NOTE = "drawn with randomness of its own; a release has other decoys"


def assess_decoys(
    source: CandidateSource, chosen: Sequence[str], samples: int = SAMPLES
) -> tuple[dict[str, Any], list[Block]]:
    """Decoys that a release could have: computed for all recipients together, shown for the chosen ones.

    Raises StageFailed if the method gives no recipient with decoys a copy, no population table counts people who are
    not in the file, or quasi-identifiers have missing values.
    """
    lacking = ", ".join(tree.name for tree in source.index.hierarchies if tree.missing_leaf >= 0)
    if lacking:
        raise StageFailed(
            "quasi-identifiers have missing values, and decoys are required",
            where=f"columns {lacking}",
            expected="a value in every record: a decoy has all values, and links to people who have them",
            got="records without one",
            fix="complete the records, or leave them out of the file",
        )
    if source.request.population.basis is not PopulationBasis.TABLE:
        raise StageFailed(
            "a request without a full population table has no room for decoys",
            where="population",
            expected="a table with all quasi-identifiers: a decoy matches people who are not in the file",
            got=f"people counted in the {source.request.population.basis.value}",
            fix="name such a table with population.path",
        )
    terms_assumed = not any(recipient.decoys for recipient in source.request.recipients)
    candidates, without_copy = _candidates(source, _ASSUMED if terms_assumed else None)
    copies = copies_to_mark(candidates)
    with_terms = [one for one in copies if one.classes]
    wanted = [name for name in chosen if name not in without_copy]
    refused, facts = "", dict[str, DecoyFact]()
    try:
        facts = plant(candidates, _NO_RELEASE, None, generator_of_its_own).facts
    except (ParameterError, StageFailed) as error:
        refused = error.in_one_line()
    found = _DecoyAssessment(
        request=candidates[0].request,
        terms_assumed=terms_assumed,
        without_copy=without_copy,
        without_decoys=tuple(name for name in wanted if name not in {one.recipient for one in with_terms}),
        copies=with_terms,
        shown=[one for one in with_terms if one.recipient in wanted],
        crowded=list(crowding([one for one in copies if one.recipient in wanted])),
        room=room_table(candidates[0], with_terms[0].band),
        sampled=sampled_rooms(candidates[0], with_terms[0].band, generator_of_its_own("samples"), samples),
        paid=ratio_costs(candidates, generator_of_its_own),
        refused=refused,
        facts=facts,
        able={one.recipient: _able(candidates, one) for one in with_terms},
    )
    return found.document(), found.blocks(samples)


def _able(candidates: Sequence[Candidate], copy: CopyToMark) -> Supported | str:
    try:
        return supported(candidates, copy, generator_of_its_own("offer"))
    except ParameterError as error:
        return error.in_one_line()


@dataclass(frozen=True)
class _DecoyAssessment:
    request: ReleaseRequest
    terms_assumed: bool
    without_copy: Mapping[str, str]
    without_decoys: tuple[str, ...]
    """Chosen recipients who are to have no decoys."""
    copies: Sequence[CopyToMark]
    shown: Sequence[CopyToMark]
    """Copies of the chosen recipients."""
    crowded: Sequence[Crowding]
    room: Sequence[Room]
    sampled: Sequence[SampledRoom]
    paid: Sequence[RatioCost]
    refused: str
    facts: Mapping[str, DecoyFact]
    able: Mapping[str, Supported | str]

    def document(self) -> dict[str, Any]:
        """The figures for ``--json``."""
        return {
            "note": NOTE,
            "terms_assumed": self.terms_assumed,
            "refused": self.refused,
            "without_copy": self.without_copy,
            "room": [{**asdict(row), "recipients": row.in_band // self.copies[0].classes} for row in self.room],
            "samples": [asdict(row) for row in self.sampled],
            "crowding": [asdict(one) for one in self.crowded],
            "costs": [asdict(cost) for cost in self.paid],
            "recipients": {
                one.recipient: {
                    "supported": asdict(able) if isinstance(able := self.able[one.recipient], Supported) else None,
                    "decoys": fact.model_dump(mode="json", exclude={"commitment_sha256", "statistics"})
                    if (fact := self.facts.get(one.recipient))
                    else None,
                }
                for one in self.shown
            },
        }

    def blocks(self, samples: int) -> list[Block]:
        """The figures for the terminal, and notes on them."""
        each = self.copies[0].classes
        alike = [
            [one.recipient for one in self.shown if one.offer == offer]
            for offer in dict.fromkeys(one.offer for one in self.shown)
        ]
        first = self.facts.get(alike[0][0]) if alike else None
        classes = {one.recipient: one.classes for one in self.shown}
        with_facts = [(names, self.facts[names[0]]) for names in alike if names[0] in self.facts]
        notes = [NOTE.capitalize() + "."]
        if self.request.continues:
            notes.append("The request continues a release, whose decoys stay; these figures are for a first version.")
        if self.terms_assumed:
            notes.append(f"No recipient is to have decoys; {_ASSUMED.classes} decoy classes each are assumed.")
        return [
            *([_line(f"Decoys cannot be had on these terms: {self.refused}")] if self.refused else []),
            *_room_table(self.room, each, self.request),
            *_sample_table(self.sampled, samples),
            *_factor_table(self.room),
            *_size_table(self.room),
            *_crowding_table(self.crowded),
            *_cost_table(self.paid, len(self.copies)),
            *(_supported(", ".join(one), classes[one[0]], self.able[one[0]], self.request) for one in alike),
            *(_line(f"{name} has no copy: {why}") for name, why in self.without_copy.items()),
            *(findings(collusion(first)) if first else []),
            *(block for names, fact in with_facts for block in _detection(names, fact.detectability)),
            *([_line(f"{', '.join(self.without_decoys)}: no decoys are required.")] if self.without_decoys else []),
            _line(" ".join(notes)),
        ]


def _line(sentence: str) -> Paragraph:
    return Paragraph(sentence, "lead")


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


def _room_table(room: Sequence[Room], each: int, request: ReleaseRequest) -> list[Block]:
    rows = (
        (
            str(row.k),
            numbers.percent(row.suppression_limit),
            "/".join(map(str, row.levels)),
            *map(_count, (row.classes, row.close_to_minimum, row.least_linked, row.published, row.riskier)),
            *map(_count, (row.in_band, row.in_band // each)),
        )
        for row in room
    )
    headings = "k", "limit", "levels", "classes", "near k", "linked", "left over", "empty", "in range", "recipients"
    return table(
        "Room that k-anonymous releases leave for decoys",
        [f">{heading}" for heading in headings],
        rows,
        "k: records of a class at least; limit: share of the records left out at most; levels: of "
        f"{', '.join(request.quasi_identifiers)}, 0 as in the file, where least is lost; near k: classes of k to 1.1 k "
        "records; linked: fewest people whom a class links to; left over: combinations of values of no class, with k "
        "people or more but fewer than those (candidates of the paper); empty: those of them that no record has; in "
        "range: all that no record has, between decoys.minimum_risk_factor and decoys.maximum_risk_factor; recipients: "
        f"with {plural(each, 'decoy class', 'decoy classes')} each",
    )


def _sample_table(sampled: Sequence[SampledRoom], samples: int) -> list[Block]:
    def shown(one: Spread) -> str:
        return f"{one.mean:,.0f} ({one.deviation:,.0f})"

    rows = (
        (
            str(row.k),
            numbers.percent(row.suppression_limit),
            *map(shown, (row.least_linked, row.published, row.published_people, row.classes, row.close_to_minimum)),
        )
        for row in sampled
    )
    headings = "k", "limit", "linked", "left over", "their people", "classes", "near k"
    return table(
        f"The same in {samples} random samples of the population, as large as the data: mean (standard deviation)",
        [f">{heading}" for heading in headings],
        rows,
        "columns as above; Tables 4 and 5 of the paper for these data",
    )


def _factor_table(room: Sequence[Room]) -> list[Block]:
    rows = (
        (str(row.k), numbers.percent(row.suppression_limit), *(f"{factor:,.2f}" for factor in row.factors))
        for row in room
        if row.factors
    )
    return table(
        "Risk factors of what is left over, by the share of them that have a lower one",
        [">k", ">limit", *(f">{numbers.percent(share)}" for share in QUANTILES)],
        rows,
        "Figure 2 of the paper; a band above 1 places such decoys; a holder of the population can recognize them",
    )


def _size_table(room: Sequence[Room]) -> list[Block]:
    rows = ((str(row.k), numbers.percent(row.suppression_limit), *map(_count, row.sizes)) for row in room)
    return table(
        "Released classes by size, in multiples of k",
        [">k", ">limit", *(f">{number}k" for number in range(1, len(room[0].sizes) if room else 1)), ">10k+"],
        rows,
        "Figure 3 of the paper for these data: 1k has k to 2k - 1 records",
    )


def _count(number: int | None) -> str:
    return DASH if number is None else f"{number:,}"


def _crowding_table(crowded: Sequence[Crowding]) -> list[Block]:
    rows = ((", ".join(one.recipients), f"{one.people:,}", numbers.percent(round(one.empty, 4))) for one in crowded)
    return table(
        "People whom the median class of each copy links to, and cells of as many people that hold no record",
        ("copy of", ">people", ">empty"),
        rows,
        "decoys lie in empty cells, of no class of any copy; where few are like the classes, in a copy or in a coarser "
        "one beside it, decoys are detectable",
    )


def _cost_table(paid: Sequence[RatioCost], recipients: int) -> list[Block]:
    rows = (
        (
            str(cost.ratio),
            numbers.percent(1 / (1 + cost.ratio)),
            cost.why_not if cost.optimal is None else f"{'' if cost.proven else '≤ '}{cost.optimal:,}",
        )
        for cost in paid
    )
    return table(
        f"Records that the worst-off of the copies misses, {recipients} with decoys",
        (">t", ">P(decoy)", ">records"),
        rows,
        "t: real classes that one copy alone keeps, for each decoy class; P(decoy): of classes in one copy alone, by "
        "comparison of copies",
    )


def _supported(who: str, classes: int, found: Supported | str, request: ReleaseRequest) -> Paragraph:
    if isinstance(found, str):
        return _line(f"{who}: no decoys can be offered. {found}")
    return _line(
        f"{who}: {found.recipients:,} recipients of this generalization could have {classes} decoy classes each at "
        f"t = {request.policy.decoys.kept_per_decoy} (limit: {found.limit})."
    )


def _detection(names: Sequence[str], fact: DetectabilityFact | None) -> Iterator[Block]:
    who = ", ".join(names)
    if fact is None:
        yield _line(f"{who}: too few cells to measure whether decoys can be distinguished from real classes.")
    else:
        yield Heading(f"{who}: whether decoys can be distinguished from real classes")
        yield from (block for block in findings(detectability(fact)) if not isinstance(block, Heading))
