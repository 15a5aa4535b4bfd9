"""Record linkage in print: the intruder's knowledge, the links of each attack, and the gain from knowing the rule.

Rows and sentences only, filled from the record; nothing is measured here. A share of people stands for a count of them,
so that it obeys the small-cell rule, and with it its interval, its certain matches and whether it beats guessing.
"""

import math
from dataclasses import dataclass
from typing import Literal

from reports import numbers
from reports.masking import masked_names
from reports.methods import method_text
from reports.smallcell import HIDDEN, SmallCellRule, counted
from tasks.assessments.linkage.facts import AttackFact, Knows, LearnedFact, LinkageFact, LinkFigure, PolicyLinkage
from tasks.assessments.linkage.figure import wilson
from tasks.assessments.linkage.judged import judged_certain
from tasks.core.errors import StageFailed
from tasks.decision.record import DecisionRecord, GateResult
from tasks.request.model import Measure, Role

Kind = Literal["uninformed", "informed", "masked"]

GUESSING = "no better than guessing: says nothing about safety"
FEW = "too few links to tell from guessing"
NO_INTERVAL = "–"
_ROUNDING = 1e-9
_NAMED: dict[str, Kind] = {
    Measure.LINKED_UNINFORMED: "uninformed",
    Measure.LINKED_INFORMED: "informed",
    Measure.LINKED_MASKED: "masked",
}
_CERTAIN: dict[str, tuple[Knows, ...]] = {
    Measure.CERTAIN_UNINFORMED: ("uninformed",),
    Measure.CERTAIN_INFORMED: ("uninformed", "informed"),
}
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


@dataclass(frozen=True)
class LinkText:
    """A figure of an attack, as far as it may be shown."""

    people: str
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


@dataclass(frozen=True)
class AttackRow:
    """One attack."""

    title: str
    attributes: str
    """Those it uses; empty where it uses all that the intruder holds."""
    people: str
    found: LinkText
    strongest: str
    """Kind of attack that it is the strongest of; empty for none."""


@dataclass(frozen=True)
class AttackGroup:
    """The attacks of one kind of intruder."""

    title: str
    rows: tuple[AttackRow, ...]


@dataclass(frozen=True)
class LearnedRow:
    """One learned distance."""

    title: str
    people: str
    equal: str
    in_sample: str
    out_of_sample: str


@dataclass(frozen=True)
class PolicyRow:
    """One method of generalization, had the file been made by it."""

    title: str
    chosen: bool
    control: bool
    narrowed: str
    attempted: str
    linked: str


@dataclass(frozen=True)
class Control:
    """Whether the methods that release whole cells show no gap, as they must."""

    holds: bool
    text: str


def link_text(figure: LinkFigure, cells: SmallCellRule) -> LinkText:
    """A figure as far as the small-cell rule lets it be shown.

    Whether few links beat guessing would reveal how few, so it is not said of them.
    """
    shown = cells.bounded(figure.share, figure.people) == figure.share
    few = cells.hides(counted(figure.share, figure.people))
    return LinkText(
        people=cells.count(figure.people),
        share=cells.share(figure.share, figure.people),
        interval=numbers.percent_range(figure.low, figure.high) if shown else NO_INTERVAL,
        baseline=numbers.percent(figure.baseline),
        certain=_certain(figure, cells, shown=shown),
        mark=FEW if few else "" if figure.proves_something else GUESSING,
    )


def _certain(figure: LinkFigure, cells: SmallCellRule, *, shown: bool) -> str:
    """Certain matches; beside a share that is shown, the links that are not certain may not be few either."""
    linked = counted(figure.share, figure.people)
    if shown and not cells.hides(figure.certain) and cells.hides(linked - figure.certain):
        least = math.floor(linked - cells.limit)
        return f">{numbers.integer(least)}" if least > 0 else HIDDEN
    return cells.part(figure.certain, figure.people)


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
    found = [attack for attack in fact.attacks if attack.id == named]
    if not found or (kind == "uninformed" and found[0].knows != "uninformed"):
        raise StageFailed(
            "the decision record names a strongest attack that it does not hold",
            where=f"risk.linkage.strongest_{kind}",
            expected="the id of an attack of this kind",
            got=named,
            fix="render the record with the version of the program that wrote it",
        )
    return found[0]


def attack_groups(record: DecisionRecord, fact: LinkageFact) -> tuple[AttackGroup, ...]:
    """The attacks by what the intruder knows, in the order of the record."""
    kinds: tuple[tuple[Knows, str], ...] = (
        ("uninformed", "Without knowledge of the method (uninformed)"),
        ("informed", "With rule, masking and parameters (informed)"),
    )
    groups = (
        AttackGroup(title, tuple(_attack_row(record, fact, one) for one in fact.attacks if one.knows == knows))
        for knows, title in kinds
    )
    return tuple(group for group in groups if group.rows)


def _attack_row(record: DecisionRecord, fact: LinkageFact, attack: AttackFact) -> AttackRow:
    found = link_text(attack.figure, SmallCellRule(record.policy.small_cell))
    marks = [words for kind, words in _STRONGEST.items() if strongest(fact, kind) == attack]
    return AttackRow(
        title=attack.title,
        attributes=_used(record, fact, set(attack.attributes)),
        people=f"{'sample, ' if attack.sampled else 'all, '}{found.people}",
        found=found,
        strongest=", ".join(marks),
    )


def _used(record: DecisionRecord, fact: LinkageFact, used: set[str]) -> str:
    """The attributes of an attack, in a word where they are all of one kind."""
    kinds = {
        "": set(fact.known),
        "quasi-identifiers": {field.name for field in record.fields if field.role == Role.QUASI},
        "masked attributes": set(masked_names(record)),
    }
    words = [name for name, members in kinds.items() if used == members]
    return words[0] if words else ", ".join(name for name in fact.known if name in used)


def summary(record: DecisionRecord, fact: LinkageFact) -> str:
    """Links by the strongest attacks."""
    cells = SmallCellRule(record.policy.small_cell)
    found = {kind: strongest(fact, kind) for kind in _STRONGEST}
    texts = {kind: link_text(attack.figure, cells) for kind, attack in found.items() if attack is not None}
    text = (
        f"Without the method, the strongest attack links {texts['uninformed'].share} of the people attacked; with the "
        f"method and all attacks to choose from, {texts['informed'].share}"
    )
    if "masked" in texts:
        text += f"; by masked numbers alone, {texts['masked'].share}"
    if all(one.mark == GUESSING for one in texts.values()):
        return f"{text}. None of these is better than guessing, so that they say nothing about how safe the file is."
    if found["uninformed"] == found["informed"]:
        text += ". No attack with knowledge of the method was stronger than the best without it"
    return f"{text}. Guessing links {texts['informed'].baseline}."


def learned_rows(record: DecisionRecord, fact: LinkageFact) -> tuple[LearnedRow, ...]:
    """The learned distances, in the order of the record."""
    cells = SmallCellRule(record.policy.small_cell)
    return tuple(_learned_row(one, cells) for one in fact.learned)


def kind_title(kind: str) -> str:
    """The family of a learned distance in print."""
    return _FAMILIES.get(kind.lower(), kind[:1].upper() + kind[1:])


def _learned_row(fact: LearnedFact, cells: SmallCellRule) -> LearnedRow:
    out = fact.out_of_sample
    return LearnedRow(
        title=kind_title(fact.kind),
        people=cells.count(fact.people),
        equal=link_text(fact.equal, cells).with_interval,
        in_sample=link_text(fact.in_sample, cells).with_interval,
        out_of_sample="too few people" if out is None else link_text(out, cells).with_interval,
    )


def policy_rows(record: DecisionRecord, fact: LinkageFact) -> tuple[PolicyRow, ...]:
    """Gain from knowing the rule, by method of generalization."""
    cells, total = SmallCellRule(record.policy.small_cell), fact.records
    return tuple(
        PolicyRow(
            title=method_text(one.method).title,
            chosen=one.chosen,
            control=_whole_cells(one),
            narrowed=cells.share(one.narrowed_share, total),
            attempted=f"{cells.share(one.naive_attacked_share, total)} → "
            f"{cells.share(one.transparent_attacked_share, total)}",
            linked=f"{cells.share(one.uninformed, total)} → {cells.share(one.informed, total)}",
        )
        for one in fact.policies
    )


def control(fact: LinkageFact) -> Control | None:
    """Result of the control; None where no method of it was tried."""
    tried = [one for one in fact.policies if _whole_cells(one)]
    if not tried:
        return None
    must = "The methods marked “control” release whole cells, so that knowing the rule must gain nothing."
    wrong = "; ".join(method_text(one.method).title for one in tried if _gap(one))
    if wrong:
        return Control(False, f"{must} The control fails for {wrong}: the table cannot be relied on.")
    return Control(True, f"{must} The control holds: none of them shows a gap.")


def _whole_cells(policy: PolicyLinkage) -> bool:
    """Whether cells are whole, as recorded; in older records, as the method has it."""
    return method_text(policy.method).whole_cells if policy.whole_cells is None else policy.whole_cells


def _gap(policy: PolicyLinkage) -> bool:
    pairs = (
        (policy.naive_attacked_share, policy.transparent_attacked_share),
        (policy.uninformed, policy.informed),
        (0.0, policy.narrowed_share),
    )
    return any(abs(one - other) > _ROUNDING for one, other in pairs)


def gate_text(gate: GateResult, fact: LinkageFact, cells: SmallCellRule) -> str | None:
    """Bound on a measured share of links, where it or its interval reveals a small count; None elsewhere.

    A gate judges the upper end of the interval where a sample was attacked, from which the count follows as well.
    """
    if gate.id in _NAMED:
        attack = strongest(fact, _NAMED[gate.id])
        if attack is None:
            return None
        return _bound(attack.figure.share, attack, cells)
    if gate.id in _CERTAIN:
        knows = _CERTAIN[gate.id]
        certain = max((one for one in fact.attacks if one.knows in knows), key=judged_certain, default=None)
        return None if certain is None else _bound(certain.figure.certain_share, certain, cells)
    return None


def _bound(share: float, attack: AttackFact, cells: SmallCellRule) -> str | None:
    people = attack.figure.people
    bound = cells.bounded(share, people)
    if bound == share:
        return None
    if people <= cells.limit:
        return HIDDEN
    end = wilson(bound * people, people)[1] if attack.sampled else bound
    return f"{'under' if share < bound else 'over'} {numbers.percent(end)}"
