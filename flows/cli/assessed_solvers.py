"""The terminal tables of ``releasegate assess`` with ``--solver`` or ``--distance``: the papers' own algorithms."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from flows.cli.tables import between, seconds, untitled_table
from reports import numbers
from tasks.assessments.linkage.families import FamilyLearned
from tasks.assessments.linkage.figure import Linkage
from tasks.assessments.sequential.solvers import PlanSolution
from tasks.generalization.paper_searches import SOLVERS as GAME_SOLVERS
from tasks.generalization.paper_searches import GameSearch

_SMALL = 1e-9


def search_tables(who: str, solver: str, searches: Sequence[GameSearch]) -> tuple[RenderableType, ...]:
    """The searches of a file, one row a variant of the game."""
    table = untitled_table(("variant",), ("payoff", "optimal", "no strategy", "a record", "a tuple", "time s"))
    for one in searches:
        table.add_row(
            one.method.value,
            "–" if one.payoff is None else f"{one.payoff:,.2f}",
            f"{one.optimal_share:.2%}",
            f"{one.without_strategy:,}",
            f"{one.nodes_a_record:,.2f}",
            f"{one.nodes_a_tuple:,.2f}",
            seconds(one.seconds),
        )
    return (
        between(
            f"{who}: the game record by record, against one attempt a record\n{GAME_SOLVERS[solver].title}",
            table,
            "payoff: the publisher's, mean over the records that have a strategy; optimal: records that pay as much as "
            f"by the exact search; a record, a tuple: strategies evaluated, mean, of {searches[0].strategies:,}. The "
            "policy's budget and k-anonymity are left out.",
        ),
    )


def solution_tables(
    who: str, solver: str, stages: Sequence[tuple[str, Sequence[PlanSolution]]]
) -> tuple[RenderableType, ...]:
    """The plans for a file's records before and after generalization, under both beliefs."""
    table = untitled_table(("records", "group"), ("groups", "solved", "share", "expected", "ΔV", "ΔP_reid", "time s"))
    work: list[str] = []
    for stage, solutions in stages:
        for one in solutions:
            table.add_row(
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
            made = ", ".join(f"{number:,} {kind}" for kind, number in one.work.items())
            work.append(f"{stage}, {one.belief}: {made}")
    other = stages[0][1][0].compared_with
    limits = "smallest groups are solved first, as far as the work is bounded; " if solver != "recursion" else ""
    return (
        between(
            f"{who}: the plan of a sequential adversary, solved by {solver}",
            table,
            f"group: its size is known or unknown before access; groups: distinct records; {limits}share: of the "
            f"records, solved; expected: re-identifications of these; Δ: largest difference from {other}, V in money",
        ),
        Text("\n".join(work)),
    )


def family_tables(who: str, found: FamilyLearned) -> tuple[RenderableType, ...]:
    """A learned distance: links, how it was learned, and the part of each attribute."""
    links = untitled_table(("linked",), ("people", "equal weights", "learned", "95 % interval"))
    for title, equal, learned in zip(("learned from", "others"), found.equal, found.learned, strict=True):
        links.add_row(title, f"{learned.n:,}", numbers.percent(equal.share_correct), *_linked(learned))
    proof = found.certificate
    lines = [
        f"parameters: {found.parameters:,}; pairs: {found.pairs:,}"
        + ("" if proof is None else f", of which {proof.rivals:,} were compared"),
        "nothing is searched for: the inverse covariance of the differences"
        if proof is None
        else "proven the best of the family"
        if proof.proven
        else f"no parameters link more than {proof.gap:.1f} people more",
        f"time: {seconds(found.seconds)} s",
    ]
    shares = untitled_table(("attribute",), ("part",))
    for name, share in found.shares.items():
        shares.add_row(name, f"{share:.1%}")
    title = f"{who}: learned distance, {found.kind.value}"
    linked = between(title, links, "among the released records of these people and the others")
    return (linked, Text("\n".join(lines)), shares)


def _linked(figure: Linkage) -> tuple[str, str]:
    return numbers.percent(figure.share_correct), numbers.percent_range(*figure.interval)


def _difference(value: float, compared: int) -> str:
    if not compared:
        return "–"
    return f"{value:.0e}" if value >= _SMALL else f"<{_SMALL:.0e}"
