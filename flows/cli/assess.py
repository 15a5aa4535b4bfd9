"""``releasegate assess``: one method alone, for every recipient of a request; release nothing."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer

from flows.actions.arguments import check_recipient
from flows.actions.randomness import NOT_THE_RELEASES_OWN, generator_of_its_own
from flows.cli.assess_decoys import assess_decoys
from flows.cli.assess_game_tables import policy_legend, policy_tables, record_tables
from flows.cli.assess_tables import (
    family_tables,
    level_tables,
    riskiest_table,
    search_tables,
    solution_tables,
    special_table,
)
from flows.cli.options import DEFAULT_WORKSPACE, RecipientOption, RequestArgument, RootsOption, WorkspaceOption
from flows.cli.output import Blocks, answer
from flows.library.policies import PolicyShelf
from reports.model.blocks import noted
from reports.model.document import Block, Heading, Paragraph, findings
from reports.model.record_view import FileView
from reports.model.smallcell import SmallCellRule
from reports.sections import attribute, combined, dates, events, linkage, sequential, singling_out, utility
from reports.sections.method import masking
from tasks.assessments.combined.assessment import COLLECTED, riskiest
from tasks.assessments.events.levels import best_levels, level_choices
from tasks.assessments.identity.policies import Comparison
from tasks.assessments.identity.record_game import record_game
from tasks.assessments.linkage.facts import LinkageFact
from tasks.assessments.linkage.families import learn_family
from tasks.assessments.linkage.holdings import holdings_of
from tasks.assessments.registry import ATTRIBUTE, COMBINED, DATES, EVENTS, LINKAGE, SEQUENTIAL, SINGLING_OUT, UTILITY
from tasks.assessments.sequential.solvers import solve_plans
from tasks.assessments.singling_out.assessment import special_records
from tasks.candidate.assessment import Assessment, Finding
from tasks.candidate.candidate import Candidate, CandidateSource
from tasks.candidate.groups import collected_groups
from tasks.core.errors import BadInput
from tasks.core.guard import guarded
from tasks.decoys.prospect import SAMPLES
from tasks.generalization.paper_searches import search_games
from tasks.generalization.setting import payoffs_of, weights_of
from tasks.microdata.event_levels import as_collected, every_level
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_data
from tasks.request.levels import state_levels
from tasks.request.load import LoadedRequest, load_request
from tasks.request.model import Recipient


class AssessedMethod(StrEnum):
    """Methods that can be assessed alone."""

    GAME = "game"
    FMDP = "fmdp"
    COMBINED = "combined"
    LINKAGE = "linkage"
    SINGLING_OUT = "singling-out"
    ATTRIBUTE = "attribute"
    DATES = "dates"
    EVENTS = "events"
    UTILITY = "utility"
    DECOYS = "decoys"


ALGORITHMS = {
    AssessedMethod.GAME: ("exact", "bis", "lbs"),
    AssessedMethod.FMDP: ("recursion", "two-level-lp", "value-iteration"),
    AssessedMethod.LINKAGE: ("mean", "owa", "choquet", "bilinear", "mahalanobis"),
}
"""Algorithms of a method's paper, as its registry names them."""

Assessed = tuple[Any, Blocks]
"""Findings of a method on one recipient, for programs and for people."""
_Section = Callable[[FileView, Any], Iterable[Block]]
"""A section of a report on one assessment's findings."""


@guarded("assessment")
def assess(
    method: Annotated[AssessedMethod, typer.Argument(help="Method to assess.", show_default=False)],
    request: RequestArgument,
    root: RootsOption = None,
    *,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    recipient: RecipientOption = None,
    top: Annotated[
        int,
        typer.Option(
            help="Records to explain with combined and singling-out: those that score highest.", min=0, max=1000
        ),
    ] = 5,
    algorithm: Annotated[
        str | None,
        typer.Option(
            help="A paper's own algorithm, for its search statistics. With game: exact, bis or lbs; with fmdp: "
            "recursion, two-level-lp or value-iteration; with linkage, a family of distances to learn: mean, owa, "
            "choquet, bilinear or mahalanobis.",
            show_default=False,
        ),
    ] = None,
    samples: Annotated[
        int, typer.Option(help="Random samples of the population to measure room for decoys in.", min=0, max=1000)
    ] = SAMPLES,
    record: Annotated[
        int | None,
        typer.Option(
            help="Position of a record in the file, from 1: with game, all strategies for it with their payoffs.",
            min=1,
            show_default=False,
        ),
    ] = None,
    levels: Annotated[
        bool,
        typer.Option(
            "--levels",
            help="With events: what every choice of levels of known attributes of rows keeps.",
        ),
    ] = False,
    write: Annotated[
        bool,
        typer.Option("--write", help="With --levels: state the choice in the request that pays most over all copies."),
    ] = False,
) -> int:
    """Assess one method alone and release nothing.

    ``game`` compares all policies under each recipient's stakes in one table: Safe Harbor, k-anonymity, every method of
    the game, and the partitions against the recipient as a sequential adversary. It shows the payoff of each, the
    information kept, the claimed risk, the risk once the policy is known, P_reid by a sequential adversary, and the
    time. Where the policy demands k-anonymity, every method is followed by it, and its cost is shown.

    ``fmdp`` models each recipient as a sequential adversary: they try candidate after candidate for as long as that
    pays, pay for access to external data, and may be detected and fined. It shows the risk before and after, the group
    sizes that deter, and the least terms that would.

    ``combined`` scores identity and attribute disclosure together, before and after, and shows which known attributes
    and which sensitive ones contribute most, for the file and for the records that score highest.

    ``linkage`` attacks the release as an intruder who knows original values of everybody, at least the
    quasi-identifiers: by groups and by masked numbers, with and without knowing rule and maskings, with less knowledge,
    and with learned weights.

    ``singling-out`` searches every set of a few released columns for records that it singles out. It shows the columns
    that contribute most, the sets that single out the highest-scoring records, and an estimate of the records that are
    unique in the population.

    ``attribute`` shows what the records of a class share: values that are disclosed without any record being found.

    ``dates`` counts the people found by true dates among shifted or relative ones: by some known dates, with and
    without the class, and by all of them. It shows what days of the week and the calendar reveal about the shift.

    ``events``, of a file with several rows per person, counts the people who match rows that others know, and shows
    what classes disclose of rows. With ``--levels`` it compares the levels at which these attributes could be released,
    by the information kept and the rows withheld; with ``--write`` the request then states the best.

    ``utility`` measures the utility of the file: losses of generalization, changes of masked numbers, associations,
    clusters, classifiers, and risk against utility of each masking.

    ``decoys`` shows the room for decoys in the data, with its spread over random samples of the population, the number
    of recipients who can have some, the cost to each copy, what recipients who compare copies would learn, and whether
    decoys could be distinguished from real classes.

    With ``--algorithm`` one algorithm of the method's paper runs instead: a search of the game record by record, a
    solution of the plan beside another solver's, or a learned distance on the people it was learned from and on others;
    each with payoff, risk or links, the work it took and its time.

    With ``game --record`` the game over one record is shown: the strategies that pay most, who matches and whether an
    attack pays, and which strategy is best under other stakes.

    Numbers that the request masks are masked, and dates shifted, with random choices that are not those of a release.
    Tables show each copy by itself; with ``--json`` the figures that gates use are given too, the worst of the copy
    alone and of any that recipients may pool.
    """
    names = ALGORITHMS.get(method, ())
    if algorithm is not None and algorithm not in names:
        raise BadInput(
            f"{method.value} has no such algorithm",
            where="--algorithm",
            expected=f"with {method.value}: {' or '.join(names) or 'no --algorithm'}",
            got="another name",
            fix="name one of these, or leave the option out",
        )
    if (levels and method is not AssessedMethod.EVENTS) or (write and not levels):
        raise _no_levels(f"with {method.value}" if levels else "--write without --levels")
    loaded = load_request(request, root or [], PolicyShelf(workspace))
    if method in _NEEDED and not _SECTIONS[method][0].applies(loaded.request):
        raise _no_levels("a file with one row a person") if levels else _not_needed(method)
    frame = read_data(loaded)
    source = CandidateSource(loaded.request, prepare(loaded, frame), frame, generator_of_its_own)
    recipients = source.request.recipients
    check_recipient(recipient, [one.id for one in recipients], "request")
    chosen = [one for one in recipients if recipient in (None, one.id)]
    blocks: list[Block] = []
    if method is AssessedMethod.DECOYS:
        document, blocks = assess_decoys(source, [one.id for one in chosen], samples)
    else:
        assessed = _assessed(method, source, top, algorithm)
        if levels:
            assessed = _by_levels(loaded, source)
        if record is not None:
            assessed = partial(_of_record, source, _row(source, method, record), top)
        found = {one.id: assessed(one) for one in chosen}
        if write:
            state_levels(loaded, *best_levels([figures for figures, _ in found.values()]))
        document = {"recipients": {who: figures for who, (figures, _) in found.items()}}
        blocks = [block for _, shown in found.values() for block in shown]
        if method is AssessedMethod.GAME and algorithm is None and record is None:
            blocks += policy_legend()
    named = {} if algorithm is None else {"algorithm": algorithm}
    return answer({"method": method.value, **named, **document}, _spaced(blocks))


def _spaced(blocks: Blocks) -> Iterator[Block]:
    """Blocks with an empty line before each, except before notes and below headings."""
    last: Block | None = None
    for block in blocks:
        is_note = isinstance(block, Paragraph) and block.style == "note"
        if last is not None and not isinstance(last, Heading) and not is_note:
            yield ""
        yield block
        last = block


def _assessed(
    method: AssessedMethod, source: CandidateSource, top: int, algorithm: str | None
) -> Callable[[Recipient], Assessed]:
    """Function that assesses a recipient's copy by a method, or by an algorithm of the method's paper."""
    if method is AssessedMethod.GAME and algorithm is not None:
        return lambda recipient: _searched(source, recipient, algorithm)
    if method is AssessedMethod.GAME:
        comparison = Comparison(source.request, source.prepared, source.index)
        return lambda recipient: _game(source, recipient, comparison)
    if algorithm is not None:
        by = _solved if method is AssessedMethod.FMDP else _learned
        return lambda recipient: by(source.candidate(recipient), algorithm)
    if method is AssessedMethod.COMBINED:
        return lambda recipient: _combined(source, recipient, top)
    if method is AssessedMethod.SINGLING_OUT:
        return lambda recipient: _singling_out(source.candidate(recipient), top)
    assessment, title, section = _SECTIONS[method]
    return lambda recipient: _alone(source.candidate(recipient), assessment, title, section)


def _alone(candidate: Candidate, assessment: Assessment[Any], title: str, section: _Section) -> Assessed:
    """Finding of the gate by one assessment."""
    found = assessment.assess(candidate)
    return _document(candidate, found), (*_shown(candidate, title, section, found.fact), *_masked(candidate))


def _combined(source: CandidateSource, recipient: Recipient, top: int) -> Assessed:
    candidate = source.candidate(recipient)
    found = COMBINED.assess(candidate)
    source.known[COLLECTED] = found.fact.initial
    records = riskiest(candidate.request, candidate.as_masked, candidate.generalization, candidate.released, top)
    document = {**_document(candidate, found), "records": [record.document() for record in records]}
    title = "identity and attributes in one score"
    blocks = _shown(candidate, title, combined.combined, found.fact)
    return document, (*blocks, *(riskiest_table(records) if records else ()))


def _singling_out(candidate: Candidate, top: int) -> Assessed:
    found, records = SINGLING_OUT.assess(candidate), special_records(candidate, top)
    document = {**_document(candidate, found), "riskiest": [record.document() for record in records]}
    blocks = _shown(candidate, "records that a few columns single out", singling_out.singling_out, found.fact)
    return document, (*blocks, *(special_table(records) if records else ()), *_masked(candidate))


def _shown(candidate: Candidate, title: str, section: _Section, fact: Any) -> Blocks:
    """Findings on a copy, from its section of the report. The steward sees all counts."""
    view = _view(candidate)
    sizes = f"{view.released:,} of {view.rows_in:,} records released"
    held = f"; held: {', '.join(fact.known)}" if isinstance(fact, LinkageFact) else ""
    return Heading(f"{candidate.recipient.id}: {title}; {sizes}{held}"), *findings(section(view, fact))


def _masked(candidate: Candidate) -> Blocks:
    note = noted(_note(candidate))
    return *findings(masking(_view(candidate))), *note


def _view(candidate: Candidate) -> FileView:
    roles = {name: attribute.role.value for name, attribute in candidate.request.attributes.items()}
    rows_in = len(candidate.prepared.tuple_of_record)
    counted = candidate.request.population.basis
    return FileView(SmallCellRule(0), rows_in, len(candidate.rows), roles, candidate.masked.facts, basis=counted)


def _document(candidate: Candidate, found: Finding[Any]) -> dict[str, Any]:
    """A finding, with how numbers were masked for it."""
    figures = {measure.value: figure for measure, figure in found.measures.items()}
    return {**found.fact.model_dump(mode="json"), "figures": figures, **_masking(candidate)}


def _masking(candidate: Candidate) -> dict[str, Any]:
    masking = [one.model_dump(mode="json") for one in candidate.masked.facts]
    return {"masking": masking, "note": _note(candidate)}


def _note(candidate: Candidate) -> str:
    """Note that masked values and shifts are not a release's; empty without any."""
    return NOT_THE_RELEASES_OWN if candidate.masked.facts or candidate.dates.columns else ""


def _game(source: CandidateSource, recipient: Recipient, comparison: Comparison) -> Assessed:
    policies = comparison.of(recipient)
    document = [one.document() for one in policies]
    return document, policy_tables(recipient, source.request, source.index, policies)


def _row(source: CandidateSource, method: AssessedMethod, record: int) -> int:
    """Record of a row of the file; raises ``BadInput`` if there is none, or the method explains no record."""
    events = source.prepared.events
    records = len(source.prepared.tuple_of_row if events is None else events.rows_of(0))
    if method is not AssessedMethod.GAME or record > records:
        raise BadInput(
            "no record can be explained",
            where="--record",
            expected=f"with game, a position from 1 to {records:,}",
            got=f"{record:,}" if method is AssessedMethod.GAME else f"with {method.value}",
            fix="name another record, or leave the option out",
        )
    return source.prepared.record_of(record - 1)


def _of_record(source: CandidateSource, row: int, top: int, recipient: Recipient) -> Assessed:
    game = record_game(source.candidate(recipient), row)
    return game.document(), tuple(record_tables(recipient.id, game, top))


def _not_needed(method: AssessedMethod) -> BadInput:
    what, where, expected = _NEEDED[method]
    return BadInput(
        what, where=where, expected=expected, got="none", fix="assess another method, or complete the request"
    )


def _no_levels(got: str) -> BadInput:
    return BadInput(
        "levels of rows cannot be compared",
        where="--levels",
        expected="with events, a file whose request names the persons of rows",
        got=got,
        fix="leave the option out",
    )


def _by_levels(loaded: LoadedRequest, source: CandidateSource) -> Callable[[Recipient], Assessed]:
    """Compares levels of attributes of rows."""
    found = every_level(read_data(replace(loaded, request=as_collected(loaded.request))), loaded.request)

    def compared(recipient: Recipient) -> Assessed:
        choices = level_choices(source.candidate(recipient), found)
        return [one.document() for one in choices], level_tables(recipient.id, choices)

    return compared


def _searched(source: CandidateSource, recipient: Recipient, name: str) -> Assessed:
    searches = search_games(source.index, payoffs_of(recipient), weights_of(source.request), name)
    return [asdict(one) for one in searches], search_tables(recipient.id, name, searches)


def _solved(candidate: Candidate, name: str) -> Assessed:
    profile = candidate.adversary.profile
    groups = {"collected": collected_groups(candidate.index, profile.prior), "released": candidate.groups}
    solutions = {stage: solve_plans(profile, found, name) for stage, found in groups.items()}
    document = {stage: [asdict(one) for one in found] for stage, found in solutions.items()}
    return document, solution_tables(candidate.recipient.id, name, solutions)


def _learned(candidate: Candidate, name: str) -> Assessed:
    who = candidate.recipient.id
    found = learn_family(holdings_of(candidate), name, candidate.randomness(f"learned distance {who}"))
    return {**found.document(), **_masking(candidate)}, (*family_tables(who, found), *_masked(candidate))


_SECTIONS: dict[AssessedMethod, tuple[Assessment[Any], str, _Section]] = {
    AssessedMethod.FMDP: (SEQUENTIAL, "a sequential adversary", sequential.sequential),
    AssessedMethod.LINKAGE: (LINKAGE, "an intruder links known values to the release", linkage.linkage),
    AssessedMethod.ATTRIBUTE: (ATTRIBUTE, "sensitive values that classes disclose", attribute.attribute),
    AssessedMethod.DATES: (DATES, "people found by true dates", dates.dates),
    AssessedMethod.EVENTS: (EVENTS, "rows of people", events.events),
    AssessedMethod.UTILITY: (UTILITY, "utility of the file", utility.measured),
}
_NEEDED = {
    AssessedMethod.EVENTS: (
        "the file has one row a person",
        "dataset.person",
        "the column that names the person of each row",
    ),
    AssessedMethod.DATES: ("no dates leave shifted or relative", "attributes", "a column with “date:”"),
}
"""Methods that not every request needs: what it lacks, where, and what is expected there."""
