"""``releasegate assess``: one method alone, for every recipient of a request; release nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from rich.console import RenderableType

from flows.cli.assessed import combined_tables, k_anonymity_tables, sequential_tables
from flows.cli.assessed_linkage import linkage_tables, masking_tables
from flows.cli.assessed_policies import policy_legend, policy_tables
from flows.cli.assessed_utility import utility_tables
from flows.cli.options import RequestArgument, RootsOption
from flows.cli.output import ExitCode, JsonOption, console, print_json
from flows.cli.randomness import NOT_THE_RELEASES_OWN, generator_of_its_own
from tasks.assessments.combined.combined_score import combine, riskiest, score_collected
from tasks.assessments.combined.facts import ScoreFigure
from tasks.assessments.identity.policies import Comparison
from tasks.assessments.registry import LINKAGE, UTILITY
from tasks.assessments.sequential.sequential import external_fact, plan
from tasks.candidate.candidate import Candidate
from tasks.candidate.groups import collected_groups, recipient_profile, released_groups
from tasks.candidate.released import released_tuples
from tasks.core.errors import BadInput, StageFailed
from tasks.core.guard import guarded
from tasks.generalization.game import Follower
from tasks.generalization.play import CountIndex, Generalization, play
from tasks.generalization.setting import follower_of, game_table, payoffs_of, weights_of
from tasks.masking.masked_columns import MaskedColumns, mask_columns, with_masked
from tasks.microdata.coded import Prepared
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.request.load import LoadedRequest, load_request
from tasks.request.model import Measure, Recipient, ReleaseRequest


class Assessment(StrEnum):
    """Methods that can be assessed alone."""

    GAME = "game"
    FMDP = "fmdp"
    COMBINED = "combined"
    LINKAGE = "linkage"
    UTILITY = "utility"
    DECOYS = "decoys"


@dataclass(frozen=True)
class Setting:
    """A request with its data read and generalized by its recipients' methods."""

    loaded: LoadedRequest
    frame: pd.DataFrame
    """The microdata as text."""
    prepared: Prepared
    table: CountIndex

    @cached_property
    def columns(self) -> MaskedColumns:
        """The masked columns; not the release's own, whose randomness is the workspace's."""
        return mask_columns(self.loaded.request, self.frame, generator_of_its_own)

    @cached_property
    def collected(self) -> ScoreFigure:
        """Combined score of the records as collected."""
        return score_collected(self.loaded.request, self.prepared, self.table)

    @cached_property
    def comparison(self) -> Comparison:
        """All policies side by side."""
        return Comparison(self.loaded.request, self.prepared, self.table)

    def played(self, recipient: Recipient) -> Generalization:
        """The recipient's method."""
        request = self.loaded.request
        cells = request.policy.generalization.cell_weights
        method = request.method_for(recipient)
        return play(self.table, method, self.game(recipient), weights_of(request), cells)

    def candidate(self, recipient: Recipient) -> Candidate:
        """The recipient's copy; what is drawn for it is not what the release draws."""
        return Candidate(
            request=self.loaded.request,
            recipient=recipient,
            prepared=self.prepared,
            index=self.table,
            generalization=self.played(recipient),
            masked=self.columns,
            source=lambda: self.frame,
            randomness=generator_of_its_own,
        )

    def game(self, recipient: Recipient) -> Follower:
        """Adversary of the recipient's game."""
        return follower_of(self.loaded.request, recipient, self.table.population.total)

    def kept(self, played: Generalization) -> NDArray[np.bool_]:
        """Whether each tuple's records would be released."""
        return released_tuples(self.table, played, self.loaded.request.policy.generalization.minimum_class_size)


@dataclass(frozen=True)
class Assessed:
    """Findings of a method on one recipient, for programs and for people."""

    document: Any
    tables: tuple[RenderableType, ...]
    legend: tuple[RenderableType, ...] = ()
    """How to read the tables, printed once after those of all recipients."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("assess")(assess)


def assess(
    method: Annotated[Assessment, typer.Argument(help="What to assess.", show_default=False)],
    request: RequestArgument,
    root: RootsOption = None,
    *,
    recipient: Annotated[
        str | None, typer.Option("--recipient", "-r", help="Id of one recipient; all of them without it.")
    ] = None,
    top: Annotated[
        int, typer.Option(help="Records to explain with combined: those that score highest.", min=0, max=1000)
    ] = 5,
    solver: Annotated[
        str | None,
        typer.Option(
            help="A paper's own algorithm, for its search statistics. With game: exact, bis or lbs; with fmdp: "
            "recursion, two-level-lp or value-iteration.",
            show_default=False,
        ),
    ] = None,
    distance: Annotated[
        str | None,
        typer.Option(
            help="A family of distances to learn with linkage: mean, owa, choquet, bilinear or mahalanobis.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Assess one method alone and release nothing.

    ``game`` compares all policies under each recipient's stakes in one table: Safe Harbor, k-anonymity, every method of
    the game, and the partitions against the recipient as a sequential adversary. It shows what each pays and keeps, its
    risk as it claims it and once it is known, P_reid by a sequential adversary, and how long it took. Where the policy
    demands k-anonymity, every method is followed by it, and what that took is shown.

    ``fmdp`` models each recipient as a sequential adversary: it tries candidate after candidate for as long as that
    pays, pays for access to external data, and may be detected and fined. It shows the risk before and after, the group
    sizes that deter, and the least terms that would.

    ``combined`` scores identity and attribute disclosure in one, before and after, and says which known attributes and
    which sensitive ones make the score, for the file and for the records that score highest.

    ``linkage`` attacks the release as an intruder would who holds the original file: by groups and by masked numbers,
    with and without knowing rule and maskings, with less knowledge, and with learned weights.

    ``utility`` measures what the file is still good for: losses of generalization, changes of masked numbers,
    associations, clusters, classifiers, and risk against utility of each masking.

    ``decoys`` shows what room the data have for decoys, how many recipients can have some, what it costs each copy,
    what recipients would learn who compare copies, and whether decoys could be distinguished from real classes.

    With ``--solver`` or ``--distance`` one algorithm of the method's paper runs instead: a search of the game record by
    record, a solution of the plan beside another solver's, or a learned distance on the people it was learned from and
    on others; each with payoff, risk or links, the work it took and its time.

    Numbers that the request masks are masked with random choices that are not those of a release. Copies that
    recipients may pool are assessed alone.
    """
    named = _named(method, solver, distance)
    with guarded("assessment"):
        loaded = load_request(request, root or [])
        frame = read_microdata(loaded.resolve(loaded.request.dataset.path, "dataset.path"), loaded.request)
        prepared = prepare(loaded, frame)
        setting = Setting(loaded, frame, prepared, game_table(loaded.request, prepared))
        chosen = _chosen(loaded.request, recipient)
        if method is Assessment.DECOYS:
            return _decoys(setting, chosen, as_json=as_json)
        if named is None:
            found = {one.id: _METHODS[method](setting, one, top) for one in chosen}
        else:
            found = {one.id: _ALGORITHMS[method](setting, one, named) for one in chosen}
    if as_json:
        documents = {who: one.document for who, one in found.items()}
        algorithm = {} if named is None else {ALGORITHM_NAMES[method][0]: named}
        print_json({"ok": True, "exit_code": 0, "method": method.value, **algorithm, "recipients": documents})
        return ExitCode.APPROVED
    every = [table for one in found.values() for table in one.tables]
    for table in (*every, *next(iter(found.values())).legend):
        console.print(table)
        console.print()
    return ExitCode.APPROVED


def _named(method: Assessment, solver: str | None, distance: str | None) -> str | None:
    """The algorithm that was asked for; None where the method is assessed as the gate does."""
    option, names = ALGORITHM_NAMES.get(method, ("", ()))
    for given, value in (("solver", solver), ("distance", distance)):
        if value is not None and (given != option or value not in names):
            taken = f"--{option} {' or '.join(names)}" if option else "neither --solver nor --distance"
            raise BadInput(
                f"{method.value} has no such algorithm",
                where=f"--{given}",
                expected=f"with {method.value}: {taken}",
                got="another option" if given != option else "another name",
                fix="name one of these, or leave the option out",
            )
    return distance if option == "distance" else solver


def _chosen(request: ReleaseRequest, recipient: str | None) -> tuple[Recipient, ...]:
    chosen = tuple(one for one in request.recipients if recipient in (None, one.id))
    if not chosen:
        raise BadInput(
            "the request has no such recipient",
            where="--recipient",
            expected=f"one of {', '.join(one.id for one in request.recipients)}",
            got="another id",
            fix="name one of these, or leave the option out for all of them",
        )
    return chosen


def _game(setting: Setting, recipient: Recipient, _top: int) -> Assessed:
    policies = setting.comparison.of(recipient)
    tables = policy_tables(recipient, setting.loaded.request, setting.table, policies)
    document = [one.document() for one in policies]
    if setting.table.demands is None:
        return Assessed(document, tables, policy_legend())
    recoded = [
        (one.policy, outcome)
        for one in policies
        if one.figures is not None and (outcome := one.figures.played.k_anonymity) is not None
    ]
    return Assessed(document, (*tables, *k_anonymity_tables(recoded)), policy_legend())


def _sequential(setting: Setting, recipient: Recipient, _top: int) -> Assessed:
    played = setting.played(recipient)
    kept = setting.kept(played)
    derived = recipient_profile(recipient, played, kept)
    external = external_fact(setting.loaded.request, setting.prepared, derived.profile.prior)
    fact = plan(setting.table, played, kept, derived, external).fact
    return Assessed(fact.model_dump(mode="json"), sequential_tables(recipient.id, fact))


def _combined(setting: Setting, recipient: Recipient, top: int) -> Assessed:
    played, request = setting.played(recipient), setting.loaded.request
    kept = setting.kept(played)
    hidden = with_masked(setting.prepared, request, setting.columns)
    fact = combine(request, hidden, setting.table, played, kept, setting.collected).fact
    records = riskiest(request, hidden, setting.table, played, kept, top)
    document = {**fact.model_dump(mode="json"), "records": [record.document() for record in records]}
    return Assessed(document, combined_tables(recipient.id, fact, records))


def _linkage(setting: Setting, recipient: Recipient, _top: int) -> Assessed:
    found = LINKAGE.assess(setting.candidate(recipient))
    document = _document(setting, found.fact.model_dump(mode="json") | {"figures": _figures(found.measures)})
    return Assessed(document, linkage_tables(recipient.id, found.fact, setting.columns.facts))


def _utility(setting: Setting, recipient: Recipient, _top: int) -> Assessed:
    found = UTILITY.assess(setting.candidate(recipient))
    document = _document(setting, found.fact.model_dump(mode="json") | {"figures": _figures(found.measures)})
    return Assessed(document, utility_tables(recipient.id, found.fact, setting.columns.facts))


def _searched(setting: Setting, recipient: Recipient, name: str) -> Assessed:
    from flows.cli.assessed_solvers import search_tables  # noqa: PLC0415  imports solvers
    from tasks.generalization.paper_searches import search_games  # noqa: PLC0415

    searches = search_games(setting.table, payoffs_of(recipient), weights_of(setting.loaded.request), name)
    return Assessed([asdict(one) for one in searches], search_tables(recipient.id, name, searches))


def _solved(setting: Setting, recipient: Recipient, name: str) -> Assessed:
    from flows.cli.assessed_solvers import solution_tables  # noqa: PLC0415  imports solvers
    from tasks.assessments.sequential.solvers import solve_plans  # noqa: PLC0415

    played = setting.played(recipient)
    kept = setting.kept(played)
    profile = recipient_profile(recipient, played, kept).profile
    groups = {
        "collected": collected_groups(setting.table, profile.prior),
        "released": released_groups(setting.table, played, kept, profile.prior),
    }
    solutions = {stage: solve_plans(profile, found, name) for stage, found in groups.items()}
    document = {stage: [asdict(one) for one in found] for stage, found in solutions.items()}
    return Assessed(document, solution_tables(recipient.id, name, tuple(solutions.items())))


def _learned(setting: Setting, recipient: Recipient, name: str) -> Assessed:
    from flows.cli.assessed_solvers import family_tables  # noqa: PLC0415  imports solvers
    from tasks.assessments.linkage.attack import holdings_of  # noqa: PLC0415
    from tasks.assessments.linkage.families import learn_family  # noqa: PLC0415

    generator = generator_of_its_own(f"learned distance {recipient.id}")
    found = learn_family(holdings_of(setting.candidate(recipient)), name, generator)
    tables = family_tables(recipient.id, found), masking_tables(setting.columns.facts)
    return Assessed(_document(setting, found.document()), tuple(one for part in tables for one in part))


def _decoys(setting: Setting, chosen: Sequence[Recipient], *, as_json: bool) -> int:
    """Decoys concern all recipients together, whichever of them are shown."""
    from flows.cli.assessed_decoys import assess_decoys, assumed  # noqa: PLC0415  imports solvers
    from tasks.decoys.stage import Copies  # noqa: PLC0415

    request, terms_assumed = assumed(setting.loaded.request)
    played, failed = _copies(setting, request.recipients)
    if not any(one.decoys for one in request.recipients if one.id in played):
        raise next(iter(failed.values()))
    copies = Copies(request, setting.prepared, setting.table, setting.frame, setting.columns, played)
    without_copy = {name: error.in_one_line() for name, error in failed.items()}
    names = [one.id for one in chosen if one.id in played]
    document, tables = assess_decoys(copies, names, terms_assumed=terms_assumed, without_copy=without_copy)
    if as_json:
        print_json({"ok": True, "exit_code": 0, "method": Assessment.DECOYS.value, **document})
        return ExitCode.APPROVED
    for table in tables:
        console.print(table)
        console.print()
    return ExitCode.APPROVED


def _copies(
    setting: Setting, recipients: Sequence[Recipient]
) -> tuple[dict[str, Generalization], dict[str, StageFailed]]:
    """Outcome of the method for each recipient, and the reason for each recipient without a copy."""
    played, failed = {}, {}
    for one in recipients:
        try:
            made = setting.played(one)
            setting.kept(made)
        except StageFailed as error:
            failed[one.id] = error
        else:
            played[one.id] = made
    return played, failed


def _document(setting: Setting, found: dict[str, Any]) -> dict[str, Any]:
    """Findings, with how numbers were masked for them."""
    masking = [one.model_dump(mode="json") for one in setting.columns.facts]
    return {**found, "masking": masking, "note": NOT_THE_RELEASES_OWN if masking else ""}


def _figures(figures: Mapping[Measure, float]) -> dict[str, float]:
    """The figures that gates judge."""
    return {measure.value: figure for measure, figure in figures.items()}


_METHODS: dict[Assessment, Callable[[Setting, Recipient, int], Assessed]] = {
    Assessment.GAME: _game,
    Assessment.FMDP: _sequential,
    Assessment.COMBINED: _combined,
    Assessment.LINKAGE: _linkage,
    Assessment.UTILITY: _utility,
}

_ALGORITHMS: dict[Assessment, Callable[[Setting, Recipient, str], Assessed]] = {
    Assessment.GAME: _searched,
    Assessment.FMDP: _solved,
    Assessment.LINKAGE: _learned,
}
ALGORITHM_NAMES = {
    Assessment.GAME: ("solver", ("exact", "bis", "lbs")),
    Assessment.FMDP: ("solver", ("recursion", "two-level-lp", "value-iteration")),
    Assessment.LINKAGE: ("distance", ("mean", "owa", "choquet", "bilinear", "mahalanobis")),
}
"""The option that names an algorithm of a method's paper, and the names in its registry, which takes long to import."""
