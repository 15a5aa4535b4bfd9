"""Tables of ``releasegate assess game``: policies of each recipient, and the strategies for one record."""

from collections.abc import Iterator, Sequence

from flows.cli.output import figure, seconds
from reports.model import numbers
from reports.model.blocks import table
from reports.model.document import DASH, Block, Paragraph, lines
from tasks.assessments.identity.facts import DivisionFact
from tasks.assessments.identity.policies import ComparedPolicy, PolicyFigures
from tasks.assessments.identity.record_game import FACTORS, RecordGame, RecordStrategy
from tasks.assessments.identity.score import adversary_of
from tasks.core.plural import plural
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.payoffs import TIE
from tasks.request.model import KAnonymity, Method, Recipient, ReleaseRequest

_HEADINGS = (
    "",
    "policy",
    ">payoff",
    ">kept\n%",
    ">claimed\nrisk",
    ">informed\nrisk",
    ">P_reid\nknown",
    ">P_reid\nbelief",
    ">P_reid\nfile",
    ">time\ns",
)
_LEGEND = (
    ("→", "the recipient's own policy"),
    ("payoff", "publisher's mean payoff per record, as the policy claims it"),
    ("kept", "share of the information that is kept"),
    ("claimed risk", "records expected to be re-identified, as the policy claims"),
    ("informed risk", "the same, once the recipient in the title knows the policy"),
    (
        "P_reid",
        "mean probability that a sequential adversary who knows the policy re-identifies a record: they know how many "
        "match it, have a belief of that, or pay access once for the file",
    ),
    ("time", "seconds to play it; equal games are played once"),
    ("common", "one strategy for all records"),
    ("fmdp-…", "the partitions, played against a sequential adversary"),
    ("others", "described in docs/methods/game.md"),
)
_ONE_SHOT = "one-shot"
_LONG, _MILLION = 10_000, 1_000_000
_FEW, _SMALL, _LEAST = 10, 0.01, 0.0001
_PARTITIONS = (Method.BASIC_PARTITION, Method.NO_ATTACK_PARTITION)
_Compared = Sequence[tuple[ComparedPolicy, PolicyFigures]]


def policy_tables(
    recipient: Recipient, request: ReleaseRequest, counted: CountIndex, policies: Sequence[ComparedPolicy]
) -> Iterator[Block]:
    """The comparison, remarks on its rows, and the cost of k-anonymity where the policy demands it."""
    own = adversary_of(request)
    against = "one attempt per record" if own == _ONE_SHOT else f"a sequential adversary ({own.partition(', ')[2]})"
    rows = (("→" if one.chosen else "", one.policy, *_figures(one.figures)) for one in policies)
    yield from table(f"{recipient.id}: all policies, against {against}", _HEADINGS, rows)
    compared = [(one, one.figures) for one in policies if one.figures is not None]
    yield Paragraph(lines(*_notes(recipient, request, counted, policies, compared)), "lead")
    recoded = [
        (one.policy, found.generalization.k_anonymity)
        for one, found in compared
        if found.generalization.k_anonymity is not None
    ]
    if counted.demands is not None and recoded:
        costs = (
            (
                method,
                figure(one.value),
                f"{one.suppressed_records:,}",
                f"{one.lifted_records:,}",
                f"{one.nodes_evaluated:,} of {one.nodes_total:,}",
                ", ".join(f"{name} {level}" for name, level in one.levels.items()),
            )
            for method, one in recoded
        )
        yield from table(
            "k-anonymity after each method: the node that loses least",
            ("method", ">loss", ">suppressed", ">lifted", ">counted", "least levels"),
            costs,
            f"loss by the metric {recoded[0][1].metric}, suppressed records included; counted: nodes of the lattice "
            "that were counted to prove the optimum",
        )


def policy_legend() -> list[Block]:
    """Meaning of the columns and some rows, once for all recipients."""
    return table("", ("", ""), _LEGEND)


def _figures(found: PolicyFigures | None) -> Sequence[str]:
    if found is None:
        return [DASH] * 8
    means = [DASH] * 3 if found.planned is None else [_probability(one.mean_risk) for one in found.planned.beliefs]
    return (
        _amount(found.claimed.publisher_payoff),
        f"{100 * found.outcome.information_kept:.1f}",
        _people(found.claimed.naive_expected_reidentifications),
        _people(found.outcome.transparent_expected_reidentifications),
        *means,
        seconds(found.seconds),
    )


def _notes(
    recipient: Recipient,
    request: ReleaseRequest,
    counted: CountIndex,
    policies: Sequence[ComparedPolicy],
    compared: _Compared,
) -> Iterator[str]:
    terms, sharing = request.policy.generalization, len(request.sharing(recipient))
    if sharing:
        yield f"One file is made for {sharing} recipients together; the figures are those of this one."
    if request.coalitions(recipient):
        yield "The figures are of this recipient's copy alone; the gates judge what coalitions see as well."
    yield from (f"{one.policy} cannot be played: {one.because}." for one in policies if one.figures is None)
    if terms.k_anonymity is not None:
        yield f"k-anonymity: k = {terms.k_anonymity.k:,}, which the policy demands of every row."
    limit = f"{KAnonymity(k=1).suppression_limit:.0%}"
    yield from (
        f"{one.policy}: the policy gives no k; k = {one.k:,} is the size of the least group that is left alone; up to "
        f"{limit} of the records may be left out for it."
        for one, _ in compared
        if one.k is not None
    )
    yield from _proofs(request, compared)
    if terms.budget is not None:
        free = [one.policy for one, found in compared if found.generalization.budget is None]
        yield f"Not held to the budget: {', '.join(free)}."
    yield from _planned(request, compared)
    out = [f"{one.policy} {found.left_out:.2%}" for one, found in compared if found.left_out]
    if out:
        yield f"Records left out: {', '.join(out)}. P_reid is of the others."
    if terms.minimum_class_size > 1:
        yield "Payoff, information and risk are those before the minimum class size is applied."
    if counted.people.form == "sparse":
        yield "Cells are counted when first required, within the time of the row that requires them."


def _proofs(request: ReleaseRequest, compared: _Compared) -> Iterator[str]:
    """Largest distance of each partition, and of each answer to a budget, from the best."""
    by_people = request.policy.generalization.cell_weights == "population"
    proofs: dict[str, list[str]] = {}
    for one, found in compared:
        people = (by_people and one.method in _PARTITIONS) or one.method is Method.NO_ATTACK_REMAINDER
        weighed = "a person of the population" if people else "a record"
        if found.division is not None:
            before = "before k-anonymity " if found.generalization.k_anonymity is not None else ""
            proofs.setdefault(before + proof_in_words(found.division, weighed), []).append(one.policy)
        elif found.generalization.budget is not None:
            gap = found.generalization.budget.bound - found.generalization.budget.payoff
            proof = "optimal" if gap <= TIE else f"at most {_below(gap)} {weighed} below the best"
            proofs.setdefault(f"{proof} within the budget", []).append(one.policy)
    yield from (f"{', '.join(names)}: {proof}." for proof, names in proofs.items())


def proof_in_words(division: DivisionFact, weighed: str) -> str:
    """Quality of a partition; ``weighed`` names the people or records whose mean its figures are."""
    if division.exact:
        return "optimal, no recursive division pays more"
    if division.gap == 0:
        return "optimal, no division into such classes pays more"
    return f"at most {_below(division.gap)} {weighed} below the best"


def _planned(request: ReleaseRequest, compared: _Compared) -> Iterator[str]:
    """Payoffs of partitions against the recipient whom they are not made for, and why P_reid may be missing."""
    again = [f"{one.policy} is {one.method.value}" for one, _ in compared if one.policy != one.method.value]
    if adversary_of(request) == _ONE_SHOT:
        plans = {
            one.policy: found.planned.payoff
            for one, found in compared
            if one.against == _ONE_SHOT and one.method in _PARTITIONS and found.planned is not None
        }
        once = {one.policy: found.outcome.publisher_payoff for one, found in compared if one.against != _ONE_SHOT}
        yield from _paying(
            "Made for one attempt per record, against a sequential adversary who pays for access once", plans
        )
        yield from _paying("Made for a sequential adversary, against one attempt per record", once)
    elif again:
        yield f"{', '.join(again)}: every game here is against a sequential adversary."
    reasons: dict[str, list[str]] = {}
    for one, found in compared:
        if found.planned is None:
            reasons.setdefault(found.unplanned, []).append(one.policy)
    yield from (f"P_reid cannot be given for {', '.join(names)}: {why}." for why, names in reasons.items())


def _paying(when: str, payoffs: dict[str, float]) -> Iterator[str]:
    if payoffs:
        yield f"{when}: {', '.join(f'{name} pays {_amount(payoff)}' for name, payoff in payoffs.items())}."


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


_RECORD_NOTE = (
    "levels: quasi-identifiers that are generalized, by level; people: those of the population who match; P: expected "
    "re-identifications of the record; → the cell that the recipient's method releases. The steward alone sees this."
)


def record_tables(recipient: str, game: RecordGame, top: int) -> Iterator[Block]:
    """The best strategies and the one that is released, then the best strategy at multiples of V and L."""
    shown = [place for place, one in enumerate(game.strategies) if place < top or one.released]
    alike = f"{plural(game.alike, 'record')} alike"
    gone = "" if game.is_released else "; left out of the release"
    yield from table(
        f"{recipient}: record {game.row:,}, {alike}{gone}; {len(shown)} of {len(game.strategies)} strategies",
        ("", ">rank", "levels", ">value v", ">people", "attack", ">P", ">publisher", ">recipient"),
        [_row(place, game.strategies[place]) for place in shown],
        _RECORD_NOTE,
    )
    named = sorted({place for line in game.best for place in line})
    letters = {place: chr(ord("A") + number) for number, place in enumerate(named[:26])}
    yield from table(
        "The best strategy where benefit V (across) and loss L with the gain (down) are multiples of these",
        ("L \\ V", *(f">{factor:g}" for factor in FACTORS)),
        [
            (
                f"{loss:g}",
                *(f"{letters.get(one, '+')}{'*' if hit else ''}" for one, hit in zip(best, hits, strict=True)),
            )
            for loss, best, hits in zip(FACTORS, game.best, game.attacked, strict=True)
        ],
        "* is attacked; " + "; ".join(f"{letter}: {_levels(game.strategies[one])}" for one, letter in letters.items()),
    )


def _row(place: int, one: RecordStrategy) -> tuple[str, ...]:
    return (
        "→" if one.released else "",
        f"{place + 1:,}",
        _levels(one),
        figure(one.value),
        f"{one.people:,}",
        "yes" if one.attacked else "no",
        numbers.risk(one.reidentified),
        figure(one.publisher),
        figure(one.adversary),
    )


def _levels(one: RecordStrategy) -> str:
    return ", ".join(f"{name} {level}" for name, level in one.levels.items() if level) or "as collected"
