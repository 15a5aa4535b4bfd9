"""``releasegate assess``: one method alone, for every recipient of a request; release nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import RenderableType

from flows.cli.assessed import combined_tables, game_tables, sequential_tables
from flows.cli.options import RequestArgument, RootsOption
from flows.cli.output import ExitCode, JsonOption, console, print_json
from tasks.decision.adversary_facts import ScoreFigure
from tasks.generalization.play import Played, Table, play
from tasks.generalization.setting import game_table, payoffs_of, weights_of
from tasks.guard import guarded
from tasks.microdata.coded import Prepared
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.request.load import LoadedRequest, load_request
from tasks.request.model import Method, Recipient
from tasks.risk.combined_score import combine, riskiest, score_collected
from tasks.risk.profile import recipient_profile
from tasks.risk.score import compare_methods, released_tuples
from tasks.risk.sequential import external_fact, plan


class Assessment(StrEnum):
    """Methods that can be assessed alone."""

    GAME = "game"
    FMDP = "fmdp"
    COMBINED = "combined"


@dataclass(frozen=True)
class Setting:
    """A request with its data read and its recipients' methods played."""

    loaded: LoadedRequest
    prepared: Prepared
    table: Table

    @cached_property
    def collected(self) -> ScoreFigure:
        """Combined score of the records as collected."""
        return score_collected(self.loaded.request, self.prepared, self.table)

    def played(self, recipient: Recipient) -> Played:
        """The recipient's method."""
        request = self.loaded.request
        cells = request.policy.generalization.cell_weights
        method = request.method_for(recipient)
        return play(self.table, method, payoffs_of(recipient), weights_of(request), cells)

    def kept(self, played: Played) -> NDArray[np.bool_]:
        """Whether each tuple's records would be released."""
        return released_tuples(self.table, played, self.loaded.request.policy.generalization.minimum_class_size)


@dataclass(frozen=True)
class Assessed:
    """What a method found for one recipient, for programs and for people."""

    document: Any
    tables: tuple[RenderableType, ...]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("assess")(assess)


def assess(
    method: Annotated[Assessment, typer.Argument(help="What to assess.", show_default=False)],
    request: RequestArgument,
    root: RootsOption = None,
    *,
    top: Annotated[
        int, typer.Option(help="Records to explain with combined: those that score highest.", min=0, max=1000)
    ] = 5,
    as_json: JsonOption = False,
) -> int:
    """Assess one method alone and release nothing.

    ``game`` compares every generalization method under each recipient's stakes: payoffs, information kept, and the
    share of records attacked as the method claims it and as a recipient who knows the method would attack.

    ``fmdp`` models each recipient as one who plans: tries candidate after candidate for as long as that pays, pays for
    access to external data, and may be detected and fined. It shows the risk before and after, the group sizes that
    deter, and the least terms that would.

    ``combined`` scores identity and attribute disclosure in one, before and after, and says which known attributes and
    which sensitive ones make the score, for the file and for the records that score highest.
    """
    with guarded("assessment"):
        loaded = load_request(request, root or [])
        frame = read_microdata(loaded.resolve(loaded.request.dataset.path, "dataset.path"), loaded.request)
        prepared = prepare(loaded, frame)
        setting = Setting(loaded, prepared, game_table(loaded.request, prepared))
        found = {recipient.id: _METHODS[method](setting, recipient, top) for recipient in loaded.request.recipients}
    if as_json:
        documents = {who: one.document for who, one in found.items()}
        print_json({"ok": True, "exit_code": 0, "method": method.value, "recipients": documents})
        return ExitCode.APPROVED
    for one in found.values():
        for table in one.tables:
            console.print(table)
            console.print()
    return ExitCode.APPROVED


def _game(setting: Setting, recipient: Recipient, _top: int) -> Assessed:
    request, payoffs = setting.loaded.request, payoffs_of(recipient)
    outcomes = compare_methods(
        setting.table,
        setting.played(recipient),
        payoffs,
        weights_of(request),
        cell_weights=request.policy.generalization.cell_weights,
        methods=tuple(Method),
    )
    return Assessed([outcome.model_dump(mode="json") for outcome in outcomes], game_tables(recipient.id, outcomes))


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
    fact = combine(request, setting.prepared, setting.table, played, kept, setting.collected).fact
    records = riskiest(request, setting.prepared, setting.table, played, kept, top)
    document = {**fact.model_dump(mode="json"), "records": [record.document() for record in records]}
    return Assessed(document, combined_tables(recipient.id, fact, records))


_METHODS: dict[Assessment, Callable[[Setting, Recipient, int], Assessed]] = {
    Assessment.GAME: _game,
    Assessment.FMDP: _sequential,
    Assessment.COMBINED: _combined,
}
