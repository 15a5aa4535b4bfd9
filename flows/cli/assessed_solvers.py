"""The terminal tables of ``releasegate assess`` with ``--algorithm``: the papers' own algorithms."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from flows.cli.tables import listing, seconds, untitled_table
from reports import numbers
from tasks.assessments.linkage.families import FamilyLearned
from tasks.assessments.linkage.figure import Linkage
from tasks.assessments.sequential.solvers import PlanSolution
from tasks.generalization.paper_searches import SOLVERS as GAME_SOLVERS
from tasks.generalization.paper_searches import GameSearch

_SMALL = 1e-9


def search_tables(who: str, solver: str, searches: Sequence[GameSearch]) -> tuple[RenderableType, ...]:
    """The searches of a file, one row a variant of the game."""
    rows = (
        (
            one.method.value,
            "–" if one.payoff is None else f"{one.payoff:,.2f}",
            f"{one.optimal_share:.2%}",
            f"{one.without_strategy:,}",
            f"{one.nodes_a_record:,.2f}",
            f"{one.nodes_a_tuple:,.2f}",
            seconds(one.seconds),
        )
        for one in searches
    )
    table = listing(
        f"{who}: the game record by record, against one attempt a record\n{GAME_SOLVERS[solver].title}",
        ("variant",),
        ("payoff", "optimal", "no strategy", "a record", "a tuple", "time s"),
        rows,
        "payoff: the publisher's, mean over the records that have a strategy; optimal: records that pay as much as "
        f"by the exact search; a record, a tuple: strategies evaluated, mean, of {searches[0].strategies:,}. The "
        "policy's budget and k-anonymity are left out.",
    )
    return (table,)


def solution_tables(
    who: str, solver: str, stages: Sequence[tuple[str, Sequence[PlanSolution]]]
) -> tuple[RenderableType, ...]:
    """The plans for a file's records before and after generalization, under both beliefs."""
    solved = [(stage, one) for stage, solutions in stages for one in solutions]
    rows = (
        (
            stage,
            one.belief,
            f"{one.groups:,}",
            f"{one.solved:,}",
            f"{one.records_share:.1%}",
            f"{one.expected_reidentifications:,.2f}",
            _difference(one.value_difference, one.compared),
            _difference(one.risk_difference, one.compared),
            seconds(one.seconds),
        )
        for stage, one in solved
    )
    limits = "smallest groups are solved first, as far as the work is bounded; " if solver != "recursion" else ""
    table = listing(
        f"{who}: the plan of a sequential adversary, solved by {solver}",
        ("records", "group"),
        ("groups", "solved", "share", "expected", "ΔV", "ΔP_reid", "time s"),
        rows,
        f"group: its size is known or unknown before access; groups: distinct records; {limits}share: of the records, "
        f"solved; expected: re-identifications of these; Δ: largest difference from {solved[0][1].compared_with}, V in "
        "money",
    )
    work = (
        f"{stage}, {one.belief}: {', '.join(f'{number:,} {kind}' for kind, number in one.work.items())}"
        for stage, one in solved
    )
    return (table, Text("\n".join(work)))


def family_tables(who: str, found: FamilyLearned) -> tuple[RenderableType, ...]:
    """A learned distance: links, how it was learned, and the part of each attribute."""
    rows = (
        (title, f"{learned.n:,}", numbers.percent(equal.share_correct), *_linked(learned))
        for title, equal, learned in zip(("learned from", "others"), found.equal, found.learned, strict=True)
    )
    links = listing(
        f"{who}: learned distance, {found.kind.value}",
        ("linked",),
        ("people", "equal weights", "learned", "95 % interval"),
        rows,
        "among the released records of these people and the others",
    )
    proof = found.certificate
    if proof is None:
        certain = "nothing is searched for: the inverse covariance of the differences"
    else:
        within = f"no parameters link more than {proof.gap:.1f} people more"
        certain = "proven the best of the family" if proof.proven else within
    compared = "" if proof is None else f", of which {proof.rivals:,} were compared"
    lines = [
        f"parameters: {found.parameters:,}; pairs: {found.pairs:,}{compared}",
        certain,
        f"time: {seconds(found.seconds)} s",
    ]
    shares = untitled_table(("attribute",), ("part",))
    for name, share in found.shares.items():
        shares.add_row(name, f"{share:.1%}")
    return (links, Text("\n".join(lines)), shares)


def _linked(figure: Linkage) -> tuple[str, str]:
    return numbers.percent(figure.share_correct), numbers.percent_range(*figure.interval)


def _difference(value: float, compared: int) -> str:
    if not compared:
        return "–"
    return f"{value:.0e}" if value >= _SMALL else f"<{_SMALL:.0e}"
