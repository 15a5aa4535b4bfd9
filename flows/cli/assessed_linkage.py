"""Terminal output of ``releasegate assess linkage``."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from flows.cli.randomness import NOT_THE_RELEASES_OWN
from flows.cli.tables import between, listing, untitled_table
from reports import numbers
from tasks.assessments.linkage.facts import AttackFact, LinkageFact, LinkFigure
from tasks.masking.fact import MaskingFact

_KNOWS = {"uninformed": "the file alone", "informed": "rule and maskings too"}


def linkage_tables(who: str, fact: LinkageFact) -> tuple[RenderableType, ...]:
    """Attacks, those not made, less knowledge, learned weights, and other methods."""
    optional = (
        (_untried, fact.untried),
        (_partial, fact.partial),
        (_learned, fact.learned),
        (_policies, fact.policies),
    )
    return (_attacks(who, fact), *(table(fact) for table, found in optional if found))


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
    rows = ((f"{one.title} ({one.knows})", one.reason) for one in fact.untried)
    return listing("Attacks that could not be made", ("attack", "why"), (), rows)


def _partial(fact: LinkageFact) -> Group:
    rows = (
        (
            f"{one.attributes} of {len(fact.known)}",
            f"{one.sets:,}",
            numbers.percent(one.uninformed),
            numbers.percent(one.informed),
        )
        for one in fact.partial
    )
    return listing(
        "With fewer attributes known",
        (),
        ("known", "sets tried", "file alone", "informed"),
        rows,
        "linked by the quicker attacks on some people, averaged over the sets",
    )


def _learned(fact: LinkageFact) -> Group:
    learned = fact.learned
    rows = (
        *((name, *(f"{one.shares[name]:.1%}" for one in learned)) for name in learned[0].shares),
        ("linked, equal weights", *(numbers.percent(one.equal.share) for one in learned)),
        ("linked, learned from them", *(numbers.percent(one.in_sample.share) for one in learned)),
        ("linked, other people", *(_share(one.out_of_sample) for one in learned)),
    )
    return listing(
        "What gives people away: weights learned from some of them",
        ("",),
        tuple(one.kind for one in learned),
        rows,
        f"learned from {learned[0].people:,} people, shares of the weight; among these people and as many others",
    )


def _share(figure: LinkFigure | None) -> str:
    return numbers.percent(figure.share) if figure else "too few"


def _policies(fact: LinkageFact) -> Group:
    rows = (
        (
            "→" if one.chosen else "",
            one.method,
            numbers.percent(one.narrowed_share),
            _step(one.naive_attacked_share, one.transparent_attacked_share),
            _step(one.uninformed, one.informed),
        )
        for one in fact.policies
    )
    return listing(
        "What knowing the rule of generalization gains, by method",
        ("", "method"),
        ("smaller groups", "attacked", "linked"),
        rows,
        "without the rule → with it; smaller groups: records whose group the rule narrows",
    )


def _step(before: float, after: float) -> str:
    return f"{numbers.percent(before)} → {numbers.percent(after)}"


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.6g}"
