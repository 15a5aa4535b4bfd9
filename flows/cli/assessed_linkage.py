"""Terminal output of ``releasegate assess linkage``."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from flows.cli.randomness import NOT_THE_RELEASES_OWN
from flows.cli.tables import between, untitled_table
from reports import numbers
from tasks.assessments.linkage.facts import AttackFact, LearnedFact, LinkageFact, LinkFigure
from tasks.masking.fact import MaskingFact

_KNOWS = {"uninformed": "the file alone", "informed": "rule and maskings too"}


def linkage_tables(who: str, fact: LinkageFact, masking: Sequence[MaskingFact]) -> tuple[RenderableType, ...]:
    """Attacks, those not made, less knowledge, learned weights, other methods, and how numbers were masked."""
    parts: list[RenderableType] = [_attacks(who, fact)]
    if fact.untried:
        parts.append(_untried(fact))
    if fact.partial:
        parts.append(_partial(fact))
    if fact.learned:
        parts.append(_learned(fact.learned))
    if fact.policies:
        parts.append(_policies(fact))
    return (*parts, *masking_tables(masking))


def masking_tables(masking: Sequence[MaskingFact]) -> tuple[RenderableType, ...]:
    """How numbers were masked; nothing where none were."""
    if not masking:
        return ()
    table = untitled_table(("attributes", "method"), ())
    table.add_column("parameters", overflow="fold")
    for one in masking:
        parameters = ", ".join(f"{name} {_plain(value)}" for name, value in one.parameters.items())
        told = [parameters, *(["rounded"] if one.rounded else []), *(["kept within bounds"] if one.limited else [])]
        table.add_row(", ".join(one.attributes), one.method, "; ".join(told))
    return (between("How numbers were masked", table, NOT_THE_RELEASES_OWN),)


def _attacks(who: str, fact: LinkageFact) -> Group:
    judged = "U strongest with the file alone, I strongest of all"
    if fact.strongest_masked:
        judged += ", M strongest by masked numbers alone"
    table = untitled_table(("", "attack"), ("people", "linked", "95 % interval", "guess", "certain"))
    for knows, told in _KNOWS.items():
        attacks = [one for one in fact.attacks if one.knows == knows]
        if attacks:
            table.add_row("", Text(f"with {told}", style="bold"))
        for one in attacks:
            table.add_row(_mark(fact, one), f"{one.title}{_used(fact, one)}", *_figures(one.figure))
    idle = any(not one.figure.proves_something for one in fact.attacks)
    return between(
        f"{who}: who holds the original file links it to the release\nheld: {', '.join(fact.known)}",
        table,
        f"{judged}: what gates judge" + ("\n* no better than guessing: proves nothing" if idle else ""),
    )


def _used(fact: LinkageFact, attack: AttackFact) -> str:
    """The attributes that an attack uses, where these are not all that are held."""
    return "" if set(attack.attributes) == set(fact.known) else f": {', '.join(attack.attributes)}"


def _mark(fact: LinkageFact, attack: AttackFact) -> str:
    strongest = (
        ("U", fact.strongest_uninformed),
        ("I", fact.strongest_informed),
        ("M", fact.strongest_masked),
    )
    marks = "".join(letter for letter, name in strongest if name == attack.id)
    return marks if attack.figure.proves_something else f"{marks}*"


def _figures(figure: LinkFigure) -> tuple[str, ...]:
    return (
        f"{figure.people:,}",
        numbers.percent(figure.share),
        numbers.percent_range(figure.low, figure.high),
        numbers.percent(figure.baseline),
        numbers.percent(figure.certain_share),
    )


def _untried(fact: LinkageFact) -> Group:
    table = untitled_table(("attack", "why"), ())
    for one in fact.untried:
        table.add_row(f"{one.title} ({one.knows})", one.reason)
    return between("Attacks that could not be made", table)


def _partial(fact: LinkageFact) -> Group:
    table = untitled_table((), ("known", "sets tried", "file alone", "informed"))
    for one in fact.partial:
        shares = numbers.percent(one.uninformed), numbers.percent(one.informed)
        table.add_row(f"{one.attributes} of {len(fact.known)}", f"{one.sets:,}", *shares)
    return between(
        "With fewer attributes known", table, "linked by the quicker attacks on some people, averaged over the sets"
    )


def _learned(facts: Sequence[LearnedFact]) -> Group:
    table = untitled_table(("",), tuple(one.kind for one in facts))
    for name in facts[0].shares:
        table.add_row(name, *(f"{one.shares[name]:.1%}" for one in facts))
    table.add_row("linked, equal weights", *(numbers.percent(one.equal.share) for one in facts))
    table.add_row("linked, learned from them", *(numbers.percent(one.in_sample.share) for one in facts))
    table.add_row("linked, other people", *(_share(one.out_of_sample) for one in facts))
    return between(
        "What gives people away: weights learned from some of them",
        table,
        f"learned from {facts[0].people:,} people, shares of the weight; among these people and as many others",
    )


def _share(figure: LinkFigure | None) -> str:
    return numbers.percent(figure.share) if figure else "too few"


def _policies(fact: LinkageFact) -> Group:
    table = untitled_table(("", "method"), ("smaller groups", "attacked", "linked"))
    for one in fact.policies:
        table.add_row(
            "→" if one.chosen else "",
            one.method,
            numbers.percent(one.narrowed_share),
            _step(one.naive_attacked_share, one.transparent_attacked_share),
            _step(one.uninformed, one.informed),
        )
    return between(
        "What knowing the rule of generalization gains, by method",
        table,
        "without the rule → with it; smaller groups: records whose group the rule narrows",
    )


def _step(before: float, after: float) -> str:
    return f"{numbers.percent(before)} → {numbers.percent(after)}"


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.6g}"
