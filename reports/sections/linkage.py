"""Record linkage: the intruder's knowledge, the links of each attack, and the gain from knowing the rule, with charts.

A share of people stands for a count of them, so that it obeys the disclosure rule, and with it its interval, its
certain matches and whether it beats guessing.
"""

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from reports import numbers
from reports.charting import Chart, Panel, box_key, line_key
from reports.document import Block, Column, Paragraph, Row, Table, figures, lines, small, strong, text
from reports.marks import (
    AFTER,
    ALARM,
    BEFORE,
    BLUES,
    DASHED,
    EDGE,
    FAINT,
    INK,
    Box,
    Dots,
    Label,
    Line,
    Mark,
    linear,
    percent_axis,
    rows_axis,
)
from reports.methods import method_text
from reports.record_view import RecordView
from reports.smallcell import HIDDEN, SmallCellRule, counted
from tasks.assessments.linkage.facts import (
    AttackFact,
    LearnedFact,
    LinkageFact,
    LinkFigure,
    PartialKnowledgeFact,
    PolicyLinkage,
)
from tasks.core.errors import StageFailed
from tasks.request.model import Role

Kind = Literal["uninformed", "informed", "masked"]

GUESSING = "no better than guessing: says nothing about safety"
FEW = "too few links to distinguish from guessing"
NO_INTERVAL = "–"
INFORMED, UNINFORMED = (ALARM, 2, ""), (AFTER, 1.2, DASHED)
"""Colour, width and dashes of the two kinds of intruders."""
_STRONGEST: dict[Kind, str] = {
    "uninformed": "strongest without the method",
    "informed": "strongest of all",
    "masked": "strongest by masked numbers alone",
}
_FAMILIES = {
    "owa": "Ordered weighted mean",
    "choquet": "Choquet integral",
    "submodular choquet": "Choquet integral, submodular",
    "bilinear": "Symmetric bilinear form",
    "semidefinite bilinear": "Bilinear form, positive semi-definite",
}
_FILLS = ((AFTER, "", ""), ("white", INK, INK), (BEFORE, "", ""), (BLUES[4], "", ""))
"""Fill, edge and hatching of the learned distances."""


@dataclass(frozen=True)
class LinkText:
    """A figure of an attack, as far as it may be shown."""

    share: str
    interval: str
    baseline: str
    certain: str
    mark: str
    """Caveat on the attack; empty where it beats guessing."""

    @property
    def with_interval(self) -> str:
        """Share and interval in one."""
        return self.share if self.interval == NO_INTERVAL else f"{self.share} ({self.interval})"


def link_text(figure: LinkFigure, cells: SmallCellRule) -> LinkText:
    """A figure as far as the disclosure rule lets it be shown.

    Whether few links beat guessing would disclose how few, so it is not said of them. Beside a share that is shown, the
    links that are not certain may not be few either.
    """
    shown = cells.bounded(figure.share, figure.people) == figure.share
    linked = counted(figure.share, figure.people)
    certain = cells.part(figure.certain, figure.people)
    if shown and not cells.hides(figure.certain) and cells.hides(linked - figure.certain):
        least = math.floor(linked - cells.limit)
        certain = f">{numbers.integer(least)}" if least > 0 else HIDDEN
    return LinkText(
        share=cells.share(figure.share, figure.people),
        interval=numbers.percent_range(figure.low, figure.high) if shown else NO_INTERVAL,
        baseline=numbers.percent(figure.baseline),
        certain=certain,
        mark=FEW if cells.hides(linked) else "" if figure.proves_something else GUESSING,
    )


def strongest(fact: LinkageFact, kind: Kind) -> AttackFact | None:
    """The attack that the record names as the strongest of a kind; None where nothing is masked.

    Raises
    ------
    StageFailed
        If the record names one that it does not hold, or an informed one as the strongest without the rule.
    """
    named = {
        "uninformed": fact.strongest_uninformed,
        "informed": fact.strongest_informed,
        "masked": fact.strongest_masked,
    }[kind]
    if named is None:
        return None
    found = next((one for one in fact.attacks if one.id == named), None)
    if found is None or (kind == "uninformed" and found.knows != "uninformed"):
        raise StageFailed(
            "the decision record names a strongest attack that it does not hold",
            where=f"risk.linkage.strongest_{kind}",
            expected="the id of an attack of this kind",
            got=named,
            fix="render the record with the version of the program that wrote it",
        )
    return found


def linkage(view: RecordView, fact: LinkageFact) -> Iterator[Block]:
    """The part of the section on adversarial tests."""
    cells = view.cells
    yield Paragraph(
        "How many people would an intruder find again who holds the source file itself (Torra 2016)? The intruder "
        f"holds everybody's values of {', '.join(fact.known)} as collected, and looks in the "
        f"{cells.count(fact.records)} released records for each person's own; a tie counts in parts. A recipient is "
        "likely to hold less, so that the shares are meant as upper bounds. An uninformed attack uses the released "
        "file alone, an informed one also the rule of generalization, the maskings and their parameters, and neither "
        "what was drawn at random."
    )
    masked = (
        " Attacks by masked numbers take the nearest record by standardized distance, or weigh agreement attribute "
        "by attribute (Fellegi and Sunter 1969), or, with the method known, keep only the records that the masking "
        "allows to be the person's and pick the best of these (Torra 2017)."
        if view.record.masking
        else ""
    )
    learned = (
        " Learned distances give each attribute the weight that links most pairs known to belong together (Torra 2016)."
        if fact.learned
        else ""
    )
    yield Paragraph(
        "Attacks by groups take the records whose groups hold the known values, all alike, the nearest by distances "
        f"on the hierarchies, or those that fewest people of the population match.{masked}{learned} The share linked "
        "is the expected number of correct links over the people attacked. The baseline is a guess among all "
        "released records."
    )
    groups = [
        [(strong(title),), *(_attack_row(view, fact, one) for one in fact.attacks if one.knows == knows)]
        for knows, title in (
            ("uninformed", "Without knowledge of the method (uninformed)"),
            ("informed", "With rule, masking and parameters (informed)"),
        )
    ]
    yield Table(
        "Attacks: people linked to their own record, beside what guessing links",
        (
            Column("Attack", 43),
            Column("People attacked", 14),
            Column("Linked", 9, "figure"),
            Column(lines("95%", "interval"), 14, "figure"),
            *figures(lines("Guessing", "links"), lines("Certain", "matches"), width=10),
        ),
        groups=[group for group in groups if len(group) > 1],
    )
    yield Paragraph(_summary(view, fact))
    sampled = (
        " Where a sample was attacked, the gates judge the upper end of the interval."
        if any(one.sampled for one in fact.attacks)
        else ""
    )
    yield Paragraph(
        "Intervals are score intervals (Wilson 1927). A certain match is a person left with one candidate, who is "
        "the right one. An attack that links no more than guessing does proves nothing: it may be the wrong "
        f"attack.{sampled}",
        "note",
    )
    if fact.untried:
        untried = [text("**{}, {}** ({})", one.title, one.knows, one.reason.rstrip(".")) for one in fact.untried]
        yield Paragraph(text("Not made: ") + text("; ").join(untried) + ".", "note")
    if fact.attacks:
        yield _attacks_chart(view, fact)
    yield from _knowledge_chart(view, fact)
    if fact.learned:
        yield Paragraph(
            "An intruder with pairs of records that belong together can learn which attributes to trust. Among the "
            "people it was learned from, what a learned distance links is an upper bound; among others it is what "
            "the intruder gains.",
            "intro",
        )
        yield Table(
            "Learned distances: people linked, with 95% intervals",
            (
                Column("Distance", 23),
                Column(lines("Learned", "from"), 8, "figure"),
                Column(lines("Equal weights,", "same people"), 23, "pair"),
                Column(lines("Learned, same people", "(upper bound)"), 23, "pair"),
                Column(lines("Learned,", "other people"), 23, "pair"),
            ),
            [
                (
                    strong(family_title(one.kind)),
                    cells.count(one.people),
                    *(
                        link_text(figure, cells).with_interval if figure else "too few people"
                        for figure in (one.equal, one.in_sample, one.out_of_sample)
                    ),
                )
                for one in fact.learned
            ],
            whole=True,
        )
    if fact.policies:
        yield from _policies(view, fact)


def _attack_row(view: RecordView, fact: LinkageFact, attack: AttackFact) -> Row:
    found = link_text(attack.figure, view.cells)
    marks = ", ".join(words for kind, words in _STRONGEST.items() if strongest(fact, kind) == attack)
    used = _used(view, fact, set(attack.attributes))
    title, share = f"{attack.title} ({marks})" if marks else attack.title, found.share
    notes = "; ".join(part for part in (f"by {used}" if used else "", found.mark) if part)
    people = f"{'sample' if attack.sampled else 'all'}, {view.cells.count(attack.figure.people)}"
    return (
        lines(strong(title) if marks else title, small(notes) if notes else ""),
        people,
        strong(share) if marks else share,
        found.interval,
        found.baseline,
        found.certain,
    )


def _used(view: RecordView, fact: LinkageFact, used: set[str]) -> str:
    """The attributes of an attack, in a word where they are all of one kind; empty where it uses all."""
    kinds = {
        "": set(fact.known),
        "quasi-identifiers": {field.name for field in view.fields(Role.QUASI)},
        "masked attributes": set(view.masked),
    }
    words = [name for name, members in kinds.items() if used == members]
    return words[0] if words else ", ".join(name for name in fact.known if name in used)


def _summary(view: RecordView, fact: LinkageFact) -> str:
    """Links by the strongest attacks."""
    found = {kind: strongest(fact, kind) for kind in _STRONGEST}
    texts = {kind: link_text(attack.figure, view.cells) for kind, attack in found.items() if attack is not None}
    masked = f"; by masked numbers alone, {texts['masked'].share}" if "masked" in texts else ""
    said = (
        f"Without the method, the strongest attack links {texts['uninformed'].share} of the people attacked; with the "
        f"method and all attacks to choose from, {texts['informed'].share}{masked}"
    )
    if all(one.mark == GUESSING for one in texts.values()):
        return f"{said}. None of these is better than guessing, so that they say nothing about how safe the file is."
    if found["uninformed"] == found["informed"]:
        said += ". No attack with knowledge of the method was stronger than the best without it"
    return f"{said}. Guessing links {texts['informed'].baseline}."


def family_title(kind: str) -> str:
    """The family of a learned distance in print."""
    return _FAMILIES.get(kind.lower(), kind[:1].upper() + kind[1:])


def _whole_cells(policy: PolicyLinkage) -> bool:
    return method_text(policy.method).whole_cells if policy.whole_cells is None else policy.whole_cells


def _policies(view: RecordView, fact: LinkageFact) -> Iterator[Block]:
    """Gain from knowing the rule by method; methods that release whole cells are the control: they must show none."""
    cells, total = view.cells, fact.records
    rows: list[Row] = []
    for one in fact.policies:
        pairs = ((one.naive_attacked_share, one.transparent_attacked_share), (one.uninformed, one.informed))
        cells_of_row = [
            cells.share(one.narrowed_share, total),
            *(" → ".join(cells.share(share, total) for share in pair) for pair in pairs),
        ]
        title = method_text(one.method).title + (" (applied)" if one.chosen else "")
        name = text("{}{}", strong(title) if one.chosen else title, small(", control") if _whole_cells(one) else "")
        rows.append((name, *(map(strong, cells_of_row) if one.chosen else cells_of_row)))
    yield Paragraph("What knowing the rule gains, had the file been generalized by another method:", "intro")
    yield Table(
        "Transparency by method: records in narrower groups than claimed, records worth attacking and people linked, "
        "without → with the rule",
        (
            Column("Method", 40),
            Column(lines("Narrowed", "by the rule"), 16, "figure"),
            *figures(lines("Worth", "attacking"), lines("People", "linked"), width=22),
        ),
        rows,
        whole=True,
    )
    tried = [one for one in fact.policies if _whole_cells(one)]
    gaps = (
        (
            one,
            max(
                one.narrowed_share,
                abs(one.informed - one.uninformed),
                abs(one.transparent_attacked_share - one.naive_attacked_share),
            ),
        )
        for one in tried
    )
    wrong = "; ".join(method_text(one.method).title for one, gap in gaps if gap > 1e-9)
    if tried:
        must = "The methods marked “control” release whole cells, so that knowing the rule must gain nothing."
        found = (
            f"The control fails for {wrong}: the table cannot be relied on."
            if wrong
            else "The control holds: none of them shows a gap."
        )
        yield Paragraph(f"{must} {found}", "failed" if wrong else "")


def _attacks_chart(view: RecordView, fact: LinkageFact) -> Chart:
    """Links by each attack, with intervals, beside links by guessing."""
    found = [one for knows in ("uninformed", "informed") for one in fact.attacks if one.knows == knows]
    names = [textwrap.fill(one.title, 62) for one in found]
    texts = [link_text(one.figure, view.cells) for one in found]
    marks: list[Mark] = []
    for row, (one, said) in enumerate(zip(found, texts, strict=True)):
        figure, informed = one.figure, one.knows == "informed"
        share, colour = 100 * view.cells.bounded(figure.share, figure.people), ALARM if informed else AFTER
        right = share
        if said.interval != NO_INTERVAL:
            marks.append(Line(((100 * figure.low, row), (100 * figure.high, row)), colour, 1.6))
            right = 100 * figure.high
        marks += [
            Dots(((100 * figure.baseline, row),), INK, "tick"),
            Dots(((share, row),), colour, filled=informed),
            Label(right, row, said.share, "start", 6),
        ]
    told = "; ".join(
        f"{one.title} ({one.knows}): {said.with_interval} linked, {said.baseline} by guessing"
        for one, said in zip(found, texts, strict=True)
    )
    return Chart(
        "attacks",
        f"Dot chart by attack. {told}.",
        "People linked by each attack, with its 95% interval, beside what guessing links (tick). Of shares that may "
        "not be shown the bound is drawn, without an interval.",
        [[Panel(percent_axis("people linked, %", room=118), rows_axis(names), marks)]],
        46 + 5 * len(found) + 9.5 * sum(name.count("\n") + 1 for name in names),
        [
            line_key("linked without the method, 95% interval", Line((), AFTER, 1.6), Dots((), AFTER, filled=False)),
            line_key("linked with it", Line((), ALARM, 1.6), Dots((), ALARM)),
            line_key("guessing", Dots((), INK, "tick")),
        ],
    )


def drawn_share(share: float, people: int, cells: SmallCellRule) -> float:
    """A share in percent, no nearer to 0 or 100 than the disclosure rule allows, so that few and none look alike."""
    edge = cells.limit / people if people > 2 * cells.limit else 0.5
    return 100 * min(max(share, edge), 1 - edge)


def linked_marks(points: Sequence[tuple[float, float, float]], edge: float) -> list[Mark]:
    """Lines of the shares linked by an informed and by an uninformed intruder; hatched where few or none are linked."""
    informed, uninformed = [(x, share) for x, share, _ in points], [(x, share) for x, _, share in points]
    low = min(share for _, share in (*informed, *uninformed)) <= edge
    return [
        *([Box((-EDGE, EDGE), (0, edge), "white", hatch=FAINT)] if low else []),
        Line(informed, *INFORMED),
        Dots(informed, ALARM, radius=1.9),
        Line(uninformed, *UNINFORMED),
        Dots(uninformed, AFTER, filled=False, radius=1.9),
    ]


def _knowledge_chart(view: RecordView, fact: LinkageFact) -> Iterator[Chart]:
    """Links by the number of attributes known, beside the attributes that identify people; nothing without either.

    A share whose number of people the record does not state may stand for a small count and is not drawn.
    """
    cells, learned = view.cells, fact.learned[: len(_FILLS)]
    shares = dict.fromkeys(name for one in learned for name in one.shares)
    names = sorted(shares, key=lambda name: -learned[0].shares.get(name, 0.0))[:10]
    known = [(one, one.people) for one in fact.partial if one.people is not None]
    panels, captions, alts, keys = [], [], [], []
    if known:
        panels.append(_partial_panel(known, cells))
        captions.append(
            "People linked by an intruder who holds only some of the attributes, averaged over sets of as many "
            f"({numbers.integer(max(one.sets for one, _ in known))} at most)"
        )
        alts.append(
            "Lines of the share linked by the number of attributes known: "
            + "; ".join(
                f"{numbers.integer(one.attributes)} known, {cells.share(one.uninformed, people)} uninformed and "
                f"{cells.share(one.informed, people)} informed"
                for one, people in known
            )
        )
        keys += [
            line_key("informed", Line((), *INFORMED), Dots((), ALARM)),
            line_key("uninformed", Line((), *UNINFORMED), Dots((), AFTER, filled=False)),
        ]
    if names:
        panels.append(_weights_panel(learned, names))
        kinds = [family_title(one.kind) for one in learned]
        captions.append(f"share of the weight that a learned distance gives each attribute ({', '.join(kinds)})")
        alts.append(
            "Bars of the share of the learned weight by attribute: "
            + "; ".join(
                f"{name} "
                + ", ".join(
                    f"{numbers.percent(one.shares.get(name, 0.0))} ({kind})"
                    for one, kind in zip(learned, kinds, strict=True)
                )
                for name in names
            )
        )
        keys += [
            box_key(kind, fill, edge or "none", hatch) for kind, (fill, edge, hatch) in zip(kinds, _FILLS, strict=False)
        ]
    caption = "; beside it, ".join(captions) + (
        f". Hatched: fewer than {numbers.integer(cells.limit)} people, or none" if known else ""
    )
    if panels:
        height = 62 + max(97.0 if known else 0.0, 5.2 * (len(learned) + 1) * len(names))
        yield Chart("linkage", f"{'. '.join(alts)}.", f"{caption[0].upper()}{caption[1:]}.", [panels], height, keys)


def _partial_panel(known: Sequence[tuple[PartialKnowledgeFact, int]], cells: SmallCellRule) -> Panel:
    points = [
        (one.attributes, drawn_share(one.informed, people, cells), drawn_share(one.uninformed, people, cells))
        for one, people in known
    ]
    edge = max(drawn_share(0.0, people, cells) for _, people in known)
    top = max(2 * edge, 1.08 * max(share for _, *both in points for share in both))
    x = linear(points[0][0] - 0.5, points[-1][0] + 0.5, "attributes known")
    whole = tuple((float(one), numbers.integer(int(one))) for one, *_ in points)
    return Panel(
        type(x)(x.low, x.high, x.title, whole),
        linear(0, top, last=100, grid=True),
        linked_marks(points, edge),
        "People linked, %",
    )


def _weights_panel(learned: Sequence[LearnedFact], names: Sequence[str]) -> Panel:
    height, marks, most = 0.8 / len(learned), list[Mark](), 0.0
    for place, (one, (fill, edge, hatch)) in enumerate(zip(learned, _FILLS, strict=False)):
        for row, name in enumerate(names):
            share, top = 100 * one.shares.get(name, 0.0), row - 0.4 + place * height
            marks.append(Box((0, share), (top, top + 0.9 * height), fill, edge or "none", hatch=hatch))
            most = max(most, share)
    return Panel(
        linear(0, 1.05 * most or 1.0, "share of the weight", last=100, grid=True),
        rows_axis(names),
        marks,
        "Weight of the attributes, %",
    )
