"""Terminal output of ``releasegate assess game``: all policies in a table for each recipient, and a legend."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from flows.cli.tables import seconds, titled_table, untitled_table
from reports import numbers
from tasks.assessments.identity.division_fact import DivisionFact
from tasks.assessments.identity.policies import ComparedPolicy, PolicyFigures
from tasks.assessments.identity.score import adversary_of
from tasks.generalization.game import TIE
from tasks.generalization.play import CountIndex
from tasks.request.model import KAnonymity, Method, Recipient, ReleaseRequest

_HEADINGS = (
    "payoff",
    "kept\n%",
    "claimed\nrisk",
    "informed\nrisk",
    "P_reid\nknown",
    "P_reid\nbelief",
    "P_reid\nfile",
    "time\ns",
)
_LEGEND = (
    ("→", "the recipient's own policy"),
    ("payoff", "publisher's mean payoff a record, as the policy claims it"),
    ("kept", "share of the information that is kept"),
    ("claimed risk", "records expected to be re-identified, as the policy claims"),
    ("informed risk", "the same by the recipient of the title once they know the policy"),
    (
        "P_reid",
        "mean probability that a sequential adversary who knows the policy re-identifies a record: they know how many "
        "match it, have a belief of that, or pay access once for the file",
    ),
    ("time", "seconds to play it; equal games are played once"),
    ("common", "one strategy for all records"),
    ("fmdp-…", "the partitions, played against a sequential adversary"),
    ("others", "described in docs/methods.md"),
)
_NONE, _ONE_SHOT = "–", "one-shot"
_LONG, _MILLION = 10_000, 1_000_000
_FEW, _SMALL, _LEAST = 10, 0.01, 0.0001
_PARTITIONS = (Method.BASIC_PARTITION, Method.NO_ATTACK_PARTITION)
_PER_RECORD = (Method.BASIC, Method.NO_ATTACK, Method.SH_FRIENDLY)


def policy_tables(
    recipient: Recipient, request: ReleaseRequest, counted: CountIndex, policies: Sequence[ComparedPolicy]
) -> tuple[RenderableType, ...]:
    """The comparison, and what to know of its rows."""
    own = adversary_of(request)
    against = "one attempt a record" if own == _ONE_SHOT else f"a sequential adversary ({own.partition(', ')[2]})"
    table = titled_table(f"{recipient.id}: all policies, against {against}", ("", "policy"), _HEADINGS)
    for one in policies:
        figures = [_NONE] * len(_HEADINGS) if one.figures is None else _figures(one.figures)
        table.add_row("→" if one.chosen else "", one.policy, *figures)
    return (table, Group(*map(Text, _notes(recipient, request, counted, policies))))


def policy_legend() -> tuple[RenderableType, ...]:
    """Meaning of the columns and some rows, once for all recipients."""
    legend = untitled_table(("", ""), ())
    legend.show_header = False
    for name, meaning in _LEGEND:
        legend.add_row(name, meaning)
    return (legend,)


def _figures(found: PolicyFigures) -> tuple[str, ...]:
    means = [_NONE] * 3 if found.planned is None else [_probability(one.mean_risk) for one in found.planned.beliefs]
    return (
        _amount(found.claimed.publisher_payoff),
        f"{100 * found.outcome.information_kept:.1f}",
        _people(found.claimed.naive_expected_reidentifications),
        _people(found.outcome.transparent_expected_reidentifications),
        *means,
        seconds(found.seconds),
    )


def _notes(
    recipient: Recipient, request: ReleaseRequest, counted: CountIndex, policies: Sequence[ComparedPolicy]
) -> Iterator[str]:
    terms, sharing = request.policy.generalization, len(request.sharing(recipient))
    if sharing:
        yield f"One file is made for {sharing} recipients together; the figures are those of this one."
    if request.coalitions(recipient):
        yield "The figures are of this recipient's copy alone; the gates judge what coalitions see as well."
    played = [(one, one.figures) for one in policies if one.figures is not None]
    yield from (f"{one.policy} cannot be played: {one.because}." for one in policies if one.figures is None)
    if terms.k_anonymity is not None:
        yield f"k-anonymity: k = {terms.k_anonymity.k:,}, which the policy demands of every row."
    limit = f"{KAnonymity(k=1).suppression_limit:.0%}"
    yield from (
        f"{one.policy}: the policy gives no k; k = {one.k:,} is the size of the least group that is left alone; up to "
        f"{limit} of the records may be left out for it."
        for one, _ in played
        if one.k is not None
    )
    yield from _proofs(request, played)
    if terms.budget is not None:
        free = [one.policy for one, found in played if found.played.budget is None]
        yield f"Not held to the budget: {', '.join(free)}."
    yield from _planned(request, played)
    out = [f"{one.policy} {found.left_out:.2%}" for one, found in played if found.left_out]
    if out:
        yield f"Records left out: {', '.join(out)}. P_reid is of the others."
    if terms.minimum_class_size > 1:
        yield "Payoff, information and risk are those before the minimum class size is applied."
    if counted.people.form == "sparse":
        yield "Cells are counted as they are asked for, within the time of whichever row asks first."


def _proofs(request: ReleaseRequest, played: Sequence[tuple[ComparedPolicy, PolicyFigures]]) -> Iterator[str]:
    """Largest distance of each partition, and of each answer to a budget, from the best."""
    by_people = request.policy.generalization.cell_weights == "population"
    proofs: dict[str, list[str]] = {}
    for one, found in played:
        people = (by_people and one.method in _PARTITIONS) or one.method is Method.NO_ATTACK_REMAINDER
        weighed = "a person of the population" if people else "a record"
        if found.division is not None:
            before = "before k-anonymity " if found.played.k_anonymity is not None else ""
            proofs.setdefault(before + proof_in_words(found.division, weighed), []).append(one.policy)
        elif found.played.budget is not None:
            gap = found.played.budget.bound - found.played.budget.payoff
            proof = "optimal" if gap <= TIE else f"at most {_below(gap)} {weighed} below the best"
            proofs.setdefault(f"{proof} within the budget", []).append(one.policy)
    yield from (f"{', '.join(names)}: {proof}." for proof, names in proofs.items())


def proof_in_words(division: DivisionFact, weighed: str) -> str:
    """How good a partition is; ``weighed`` says of whom its figures are means."""
    if division.exact:
        return "optimal, no recursive division pays more"
    if division.gap == 0:
        return "optimal, no division into such classes pays more"
    return f"at most {_below(division.gap)} {weighed} below the best"


def _planned(request: ReleaseRequest, played: Sequence[tuple[ComparedPolicy, PolicyFigures]]) -> Iterator[str]:
    """Payoffs of partitions against the recipient whom they are not made for, and why P_reid may be missing."""
    again = [f"{one.policy} is {one.method.value}" for one, _ in played if one.policy != one.method.value]
    if adversary_of(request) != _ONE_SHOT and again:
        yield f"{', '.join(again)}: every game here is against a sequential adversary."
    if adversary_of(request) == _ONE_SHOT:
        once = {one.policy: found.outcome.publisher_payoff for one, found in played if one.against != _ONE_SHOT}
        plans = {
            one.policy: found.planned.payoff
            for one, found in played
            if one.against == _ONE_SHOT and one.method in _PARTITIONS and found.planned is not None
        }
        yield from _paying("Made for one attempt a record, against a sequential adversary with access paid once", plans)
        yield from _paying("Made for a sequential adversary, against one attempt a record", once)
    reasons: dict[str, list[str]] = {}
    for one, found in played:
        if found.planned is None:
            reasons.setdefault(found.unplanned, []).append(one.policy)
    yield from (f"P_reid cannot be given of {', '.join(names)}: {why}." for why, names in reasons.items())


def _paying(when: str, payoffs: dict[str, float]) -> Iterator[str]:
    if payoffs:
        told = (f"{name} pays {_amount(payoff)}" for name, payoff in payoffs.items())
        yield f"{when}: {', '.join(told)}."


def _amount(value: float) -> str:
    return f"{value:,.2f}" if abs(value) < _LONG else f"{value:,.0f}"


def _below(gap: float) -> str:
    """A gap, rounded up."""
    return numbers.amount_up(gap) if gap >= _SMALL else numbers.risk_up(gap)


def _people(expected: float) -> str:
    """Expected re-identifications; 0 is none at all."""
    if 0 < expected < _FEW:
        return f"{expected:.2f}" if expected >= _SMALL else f"<{_SMALL:g}"
    return f"{expected:,.0f}" if expected < _MILLION else f"{expected:.3g}"


def _probability(value: float) -> str:
    """A mean risk; 0 is none at all."""
    return "0" if value == 0 else f"{value:.4f}" if value >= _LEAST else f"<{_LEAST:g}"
