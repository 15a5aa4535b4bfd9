"""Tables of ``releasegate assess`` that no report has: the riskiest records, and the papers' own algorithms."""

from collections.abc import Iterator, Mapping, Sequence

from flows.cli.output import figure, seconds
from reports.model import numbers
from reports.model.blocks import table
from reports.model.document import DASH, Block, Paragraph, lines
from tasks.assessments.combined.assessment import RecordScore
from tasks.assessments.events.levels import LevelChoice
from tasks.assessments.linkage.families import FamilyLearned
from tasks.assessments.sequential.solvers import PlanSolution
from tasks.assessments.singling_out.assessment import SpecialRecord
from tasks.generalization.paper_searches import SOLVERS, GameSearch

_SMALL = 1e-9
_SHOWN = 12


def riskiest_table(records: Sequence[RecordScore]) -> list[Block]:
    """The records that score highest, and most of their scores."""
    parts = (
        f"{', '.join(part.attributes) or 'nothing'} ({part.share:.0%})" if part else DASH
        for record in records
        for part in (record.known_set, record.attribute)
    )
    return table(
        "Records that score highest",
        (">rank", ">row", ">score", "known, most of the score", "sensitive, most of the score"),
        [(f"{one.rank:,}", f"{one.row + 1:,}", figure(one.score), next(parts), next(parts)) for one in records],
        "rows are counted from 1 in the file",
    )


def special_table(records: Sequence[SpecialRecord]) -> list[Block]:
    """The records that score highest as special uniques, and the smallest sets that single them out."""
    rows = []
    for one in records:
        sets = [" + ".join(columns) for columns in one.sets] + ([f"{one.more:,} further sets"] if one.more else [])
        rows.append((f"{one.row + 1:,}", figure(one.score), figure(one.probability), lines(*sets)))
    return table(
        "Records that score highest",
        (">row", ">score", ">DIS-SUDA", "singled out by"),
        rows,
        "rows are counted from 1 in the file",
    )


def level_tables(who: str, choices: Sequence[LevelChoice]) -> list[Block]:
    """The choices of levels, for attributes of rows, that pay most."""
    return table(
        f"{who}: levels of the attributes of rows that others may know, the best first",
        ("levels", ">most rows", ">payoff", ">kept", ">rows withheld", ">fewest people"),
        [
            (
                ", ".join(f"{name} {level}" for name, level in one.levels.items()),
                "all" if one.most_rows is None else f"{one.most_rows:,}",
                f"{one.payoff:,.2f}",
                f"{one.kept:.2%}",
                f"{one.withheld_rows:,}",
                f"{one.fewest:,}",
            )
            for one in choices[:_SHOWN]
        ],
        "most rows: of a person, that keep these attributes; payoff: the publisher's, mean over the rows; kept: "
        f"information of these attributes; {len(choices):,} choices were compared. State the levels in the request: "
        "they are the same in every copy.",
    )


def search_tables(who: str, solver: str, searches: Sequence[GameSearch]) -> Iterator[Block]:
    """The searches of a file by a paper's algorithm, one row a variant of the game."""
    rows = (
        (
            one.method.value,
            DASH if one.payoff is None else f"{one.payoff:,.2f}",
            f"{one.optimal_share:.2%}",
            f"{one.without_strategy:,}",
            f"{one.nodes_a_record:,.2f}",
            f"{one.nodes_a_tuple:,.2f}",
            seconds(one.seconds),
        )
        for one in searches
    )
    yield from table(
        f"{who}: the game record by record, against one attempt per record\n{SOLVERS[solver].title}",
        ("variant", ">payoff", ">optimal", ">no strategy", ">a record", ">a tuple", ">time s"),
        rows,
        "payoff: the publisher's, mean over the records that have a strategy; optimal: records that pay as much as "
        f"by the exact search; a record, a tuple: strategies evaluated, mean, of {searches[0].strategies:,}. The "
        "policy's budget and k-anonymity are left out.",
    )


def solution_tables(who: str, solver: str, stages: Mapping[str, Sequence[PlanSolution]]) -> Iterator[Block]:
    """The plans for a file's records before and after generalization, under both beliefs, by a paper's algorithm."""
    solved = [(stage, one) for stage, solutions in stages.items() for one in solutions]
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
    yield from table(
        f"{who}: the plan of a sequential adversary, solved by {solver}",
        ("records", "group", ">groups", ">solved", ">share", ">expected", ">ΔV", ">ΔP_reid", ">time s"),
        rows,
        f"group: its size is known or unknown before access; groups: distinct records; {limits}share: of the records, "
        f"solved; expected: re-identifications of these; Δ: largest difference from {solved[0][1].compared_with}, V in "
        "money",
    )
    work = (", ".join(f"{number:,} {kind}" for kind, number in one.work.items()) for _, one in solved)
    yield Paragraph(
        lines(*(f"{stage}, {one.belief}: {done}" for (stage, one), done in zip(solved, work, strict=True))), "lead"
    )


def family_tables(who: str, found: FamilyLearned) -> Iterator[Block]:
    """A learned distance: links, how it was learned, and the part of each attribute."""
    rows = (
        (
            title,
            f"{learned.n:,}",
            numbers.percent(equal.share_correct),
            numbers.percent(learned.share_correct),
            numbers.percent_range(*learned.interval),
        )
        for title, equal, learned in zip(("learned from", "others"), found.equal, found.learned, strict=True)
    )
    yield from table(
        f"{who}: learned distance, {found.kind.value}",
        ("linked", ">people", ">equal weights", ">learned", ">95 % interval"),
        rows,
        "among the released records of these people and the others",
    )
    proof = found.certificate
    compared = "" if proof is None else f", of which {proof.rivals:,} were compared"
    certain = "nothing is searched for: the inverse covariance of the differences"
    if proof is not None:
        within = f"no parameters link more than {proof.gap:.1f} people more"
        certain = "proven the best of the family" if proof.proven else within
    pairs = f"parameters: {found.parameters:,}; pairs: {found.pairs:,}{compared}"
    yield Paragraph(lines(pairs, certain, f"time: {seconds(found.seconds)} s"), "lead")
    yield from table("", ("attribute", ">part"), ((name, f"{share:.1%}") for name, share in found.shares.items()))


def _difference(value: float, compared: int) -> str:
    if not compared:
        return DASH
    return f"{value:.0e}" if value >= _SMALL else f"<{_SMALL:.0e}"
