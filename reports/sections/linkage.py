"""Record linkage: the intruder's knowledge, the links of each attack, and the gain from knowing the rule.

A share of people stands for a count: it obeys the disclosure rule, with its interval, its certain matches and whether
it beats guessing.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from reports.model import numbers
from reports.model.document import DASH, Block, Paragraph, Row, Table, lines, said, small, strong, text
from reports.model.methods import method_text
from reports.model.record_view import FileView
from reports.model.smallcell import HIDDEN, SmallCellRule, counted
from tasks.assessments.linkage.facts import AttackFact, LinkageFact, LinkFigure, PolicyLinkage, WeakerFact
from tasks.core.errors import StageFailed
from tasks.request.model import Measure, Role

Kind = Literal["uninformed", "informed", "masked"]

GUESSING = "no better than guessing: says nothing about safety"
FEW = "too few links to distinguish from guessing"
NO_INTERVAL = DASH
_STRONGEST: dict[Kind, str] = {
    "uninformed": "strongest without the method",
    "informed": "strongest of all",
    "masked": "strongest by numbers alone",
}
_KNOWS = {
    "uninformed": "Without knowledge of the method (uninformed)",
    "informed": "With rule, masking and parameters (informed)",
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

    Whether few links beat guessing would disclose how few. Beside a share that is shown, the links that are not certain
    may not be few either.
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
    """The attack that the record names as the strongest of a kind; None where nothing is masked."""
    named = getattr(fact, f"strongest_{kind}")
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


def intruder(view: FileView, fact: LinkageFact) -> str:
    """Knowledge of the intruder in words: the source file, the quasi-identifiers, or some of the columns."""
    known, released = (
        set(fact.known),
        {name for name, role in view.roles.items() if Role(role).delivered and role != Role.PSEUDONYM},
    )
    if known == released:
        return "an intruder who holds the original file"
    if known == {name for name in released if view.roles[name] == Role.QUASI}:
        return "an intruder who knows everybody's quasi-identifiers and no other column"
    return (
        f"an intruder who knows {numbers.integer(len(known))} of the {numbers.integer(len(released))} released columns "
        "of everybody"
    )


def linkage(view: FileView, fact: LinkageFact) -> Iterator[Block]:
    """The part of the section on adversarial tests."""
    cells = view.cells
    yield (
        f"How many people would be re-identified by {intruder(view, fact)} (Torra 2016)? The intruder "
        f"holds everybody's values of {', '.join(fact.known)} as collected, and looks in the "
        f"{view.people_out(fact.records).replace('>', 'more than ')} released records for each person's own; a tie "
        "counts in parts. A recipient is likely to hold less, so that the shares are meant as upper bounds. An "
        "uninformed attack uses the released file alone, an informed one also the rule of generalization, the maskings "
        "and their parameters, and neither what was drawn at random."
    )
    further = {name for one in fact.attacks for name in one.attributes} - set(fact.known)
    yield said(
        f"Attacks by numbers alone also use {', '.join(sorted(further))}, which may be known." if further else None,
        "Attacks by groups take the records whose groups hold the known values, all alike, the nearest by distances "
        "on the hierarchies, or those that fewest people of the population match.",
        "Attacks by masked numbers take the nearest record by standardized distance, or weigh agreement attribute by "
        "attribute (Fellegi and Sunter 1969), or, with the method known, keep only the records that the masking allows "
        "to be the person's and pick the best of these (Torra 2017)."
        if view.masking
        else None,
        "Learned distances give each attribute the weight that links most pairs known to belong together (Torra 2016)."
        if fact.learned
        else None,
        "The share linked is the expected number of correct links over the people attacked. The baseline is a guess "
        "among all released records.",
    )
    groups = [
        [(strong(title),), *(_attack_row(view, fact, one) for one in fact.attacks if one.knows == knows)]
        for knows, title in _KNOWS.items()
    ]
    yield Table(
        "Attacks: people linked to their own record, beside what guessing links",
        "Attack 40 | People attacked 14 | Linked 9r | 95% interval 14r | Guessing 12r | Certain matches 11r",
        groups=[group for group in groups if len(group) > 1],
    )
    yield Paragraph(_summary(view, fact))
    untried = [text("**{}, {}** ({})", one.title, one.knows, one.reason.rstrip(".")) for one in fact.untried]
    yield Paragraph(
        said(
            "Intervals are score intervals (Wilson 1927). A certain match is a person left with one candidate, who is "
            "the right one. An attack that links no more than guessing does proves nothing: it may be the wrong "
            "attack.",
            "Where a sample was attacked, the gates judge the upper end of the interval, but no more than one link for "
            "each combination of the attributes' values, as collected or as released."
            if any(one.sampled for one in fact.attacks)
            else None,
            "An attack that was not made counts as that many links." if fact.untried else None,
            text("Not made: ") + text("; ").join(untried) + "." if untried else None,
        ),
        "note",
    )
    known = [(one, one.people) for one in fact.partial if one.people is not None]
    if known:
        yield Table(
            "People linked by an intruder who holds only some of the attributes, averaged over sets of as many "
            f"({numbers.integer(max(one.sets for one, _ in known))} at most)",
            "Attributes known 40 | Uninformed 30r | Informed 30r",
            [
                (
                    numbers.integer(one.attributes),
                    cells.share(one.uninformed, people),
                    cells.share(one.informed, people),
                )
                for one, people in known
            ],
        )
    if fact.learned:
        yield from _learned(view, fact)
    if fact.weaker:
        yield Table(
            "Intruders who know less, by masked numbers alone: shown, and not judged by the gates",
            "Intruder 46 | People attacked 14r | Linked 12r | 95% interval 16r | Guessing 12r",
            [_weaker_row(view, one) for one in fact.weaker],
        )
    if fact.policies:
        yield from _policies(view, fact)


def _attack_row(view: FileView, fact: LinkageFact, attack: AttackFact) -> Row:
    found = link_text(attack.figure, view.cells)
    marks = ", ".join(words for kind, words in _STRONGEST.items() if strongest(fact, kind) == attack)
    used = _used(view, fact, set(attack.attributes))
    title = strong(f"{attack.title} ({marks})") if marks else attack.title
    taught = (
        f"{link_text(attack.trained, view.cells).with_interval} of those it was learned from" if attack.trained else ""
    )
    bound = "at most: in blocks, given which records are of which" if attack.bound else ""
    notes = "; ".join(part for part in (f"by {used}" if used else "", taught, bound, found.mark) if part)
    return (
        lines(title, small(notes) if notes else ""),
        f"{'sample' if attack.sampled else 'all'}, {view.people_out(attack.figure.people)}",
        strong(found.share) if marks else found.share,
        found.interval,
        found.baseline,
        found.certain,
    )


def _weaker_row(view: FileView, one: WeakerFact) -> Row:
    found = link_text(one.figure, view.cells)
    title = lines(one.title, small(found.mark) if found.mark else "")
    return (title, view.people_out(one.figure.people), found.share, found.interval, found.baseline)


def _used(view: FileView, fact: LinkageFact, used: set[str]) -> str:
    """The attributes of an attack, in a word where they are all of one kind; empty where it uses all."""
    kinds = {
        "": set(fact.known),
        "quasi-identifiers": {name for name, role in view.roles.items() if role == Role.QUASI},
        "masked attributes": set(view.masked),
    }
    words = [name for name, members in kinds.items() if used == members]
    rest = sorted(used.difference(fact.known))
    return words[0] if words else ", ".join([*(name for name in fact.known if name in used), *rest])


def _summary(view: FileView, fact: LinkageFact) -> str:
    found = {kind: strongest(fact, kind) for kind in _STRONGEST}
    texts = {kind: link_text(attack.figure, view.cells) for kind, attack in found.items() if attack is not None}
    masked = f"; by numbers alone, {texts['masked'].share}" if "masked" in texts else ""
    links = (
        f"Without the method, the strongest attack links {texts['uninformed'].share} of the people attacked; with the "
        f"method and all attacks to choose from, {texts['informed'].share}{masked}."
    )
    if all(one.mark == GUESSING for one in texts.values()):
        return f"{links} None of these is better than guessing, so that they say nothing about how safe the file is."
    without = [one for one in fact.attacks if one.knows == "uninformed"]
    most = max(without, key=lambda one: one.figure.share, default=None)
    judged = found["uninformed"]
    return said(
        links,
        f"Another without the method links {link_text(most.figure, view.cells).share}; the strongest is so by the most "
        "that it may link, as gates judge it: the upper end of its interval, or the people that it was learned from."
        if most and judged and most.figure.share > judged.figure.share
        else None,
        "No attack with knowledge of the method was stronger than the best without it."
        if found["uninformed"] == found["informed"]
        else None,
        f"Guessing links {texts['informed'].baseline}.",
        "The gate on links by numbers alone judges an intruder who uses masked numbers and nothing else"
        f"{': no number is masked, so that it finds 0%' if not view.masked else ''}."
        if Measure.LINKED_MASKED in view.gated and Measure.LINKED_INFORMED not in view.gated
        else None,
    )


def _learned(view: FileView, fact: LinkageFact) -> Iterator[Block]:
    yield (
        "An intruder with pairs of records that belong together can learn which attributes to trust. Among the people "
        "it was learned from, what a learned distance links is an upper bound; among others it is what the intruder "
        "gains. The gates judge the higher of the two."
    )
    kinds = [
        _FAMILIES.get(one.kind.lower(), one.kind[:1].upper() + one.kind[1:]) + (", numbers alone" if one.alone else "")
        for one in fact.learned
    ]
    yield Table(
        "Learned distances: people linked, with 95% intervals",
        "Distance 20 | Learned from 11r | Equal weights, same people 23p | Learned, same people (upper bound) 23p | "
        "Learned, other people 23p",
        [
            (
                kind,
                view.people_out(one.people),
                *(
                    link_text(figure, view.cells).with_interval if figure else "too few people"
                    for figure in (one.equal, one.in_sample, one.out_of_sample)
                ),
            )
            for kind, one in zip(kinds, fact.learned, strict=True)
        ],
    )
    names = dict.fromkeys(name for one in fact.learned for name in one.shares)
    if names:
        wide = 75 // len(kinds)
        yield Table(
            "Share of the weight that each learned distance gives an attribute",
            " | ".join(["Attribute 25", *(f"{kind} {wide}r" for kind in kinds)]),
            [
                (name, *(numbers.percent(one.shares.get(name, 0.0)) for one in fact.learned))
                for name in sorted(names, key=lambda name: -fact.learned[0].shares.get(name, 0.0))
            ],
        )


def _whole_cells(policy: PolicyLinkage) -> bool:
    return method_text(policy.method).whole_cells if policy.whole_cells is None else policy.whole_cells


def _policies(view: FileView, fact: LinkageFact) -> Iterator[Block]:
    """Gain from knowing the rule by method; methods that release whole cells are the control: they must show none."""
    cells, rows, wrong = view.cells, list[Row](), []
    for one in fact.policies:
        attacked = one.naive_attacked_share, one.transparent_attacked_share
        figures = [
            cells.share(one.narrowed_share, fact.records),
            *(
                " → ".join(cells.share(share, fact.records) for share in pair)
                for pair in (attacked, (one.uninformed, one.informed))
            ),
        ]
        title, control = method_text(one.method).title, _whole_cells(one)
        name = text("{}{}", f"{title}{' (applied)' if one.chosen else ''}", small(", control") if control else "")
        rows.append(tuple(map(strong, (name, *figures))) if one.chosen else (name, *figures))
        gaps = abs(one.informed - one.uninformed), abs(attacked[1] - attacked[0])
        if control and max(one.narrowed_share, *gaps) > 1e-9:
            wrong.append(title)
    yield Table(
        "Transparency, had the file been generalized by another method: records in narrower groups than claimed, "
        "records worth attacking and people linked, without → with the rule",
        "Method 40 | Narrowed by the rule 16r | Worth attacking 22r | People linked 22r",
        rows,
    )
    yield Paragraph(
        "“Worth attacking” counts the records on which an attempt pays. “People linked” counts whom an intruder who "
        f"holds {', '.join(fact.known)} of everybody links correctly, guesses among them, whether or not that pays: "
        "without the rule, → and with it. So one may be 0% where the other is not.",
        "note",
    )
    if any(map(_whole_cells, fact.policies)):
        must = "The methods marked “control” release whole cells, so that knowing the rule must gain nothing."
        if wrong:
            yield Paragraph(
                f"{must} The control fails for {'; '.join(wrong)}: the table cannot be relied on.", "failed"
            )
        else:
            yield Paragraph(f"{must} The control holds: none of them shows a gap.")
