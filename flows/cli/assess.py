"""``releasegate assess``: one method alone, for every recipient of a request; release nothing."""

from enum import StrEnum
from typing import Annotated

import typer
from rich.table import Table

from flows.cli.options import RequestArgument, RootsOption
from flows.cli.output import ExitCode, JsonOption, console, print_json
from tasks.decision.record import PolicyOutcome
from tasks.generalization.play import play
from tasks.generalization.setting import game_table, payoffs_of, weights_of
from tasks.guard import guarded
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.request.load import load_request
from tasks.request.model import Method
from tasks.risk.score import compare_methods


class Assessment(StrEnum):
    """Methods that can be assessed alone."""

    GAME = "game"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("assess")(assess)


def assess(
    method: Annotated[Assessment, typer.Argument(help="What to assess.", show_default=False)],
    request: RequestArgument,
    root: RootsOption = None,
    *,
    as_json: JsonOption = False,
) -> int:
    """Assess one method alone and release nothing.

    ``game`` compares every generalization method under each recipient's stakes: payoffs, information kept, and the
    share of records attacked as the method claims it and as a recipient who knows the method would attack.
    """
    outcomes: dict[str, tuple[PolicyOutcome, ...]] = {}
    with guarded("assessment"):
        loaded = load_request(request, root or [])
        asked = loaded.request
        frame = read_microdata(loaded.resolve(asked.dataset.path, "dataset.path"), asked)
        table = game_table(asked, prepare(loaded, frame))
        weights, cells = weights_of(asked), asked.policy.generalization.cell_weights
        for recipient in asked.recipients:
            payoffs = payoffs_of(recipient)
            chosen = play(table, asked.method_for(recipient), payoffs, weights, cells)
            outcomes[recipient.id] = compare_methods(
                table, chosen, payoffs, weights, cell_weights=cells, methods=tuple(Method)
            )
    if as_json:
        print_json(
            {
                "ok": True,
                "exit_code": 0,
                "method": method.value,
                "recipients": {
                    who: [outcome.model_dump(mode="json") for outcome in rows] for who, rows in outcomes.items()
                },
            }
        )
        return ExitCode.APPROVED
    for who, rows in outcomes.items():
        console.print(_comparison(who, rows))
        console.print()
    return ExitCode.APPROVED


def _comparison(who: str, outcomes: tuple[PolicyOutcome, ...]) -> Table:
    table = Table(
        title=f"{who}: what each method pays, and what an informed recipient does",
        title_justify="left",
        caption="mean payoffs a record; attacked and re-identified: as the method claims it → once the method is known",
        caption_justify="left",
        box=None,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for heading in ("", "method"):
        table.add_column(heading, no_wrap=True)
    for heading in ("publisher", "recipient", "kept %", "attacked %", "re-identified"):
        table.add_column(heading, justify="right", no_wrap=True)
    for outcome in outcomes:
        attacked = f"{outcome.naive_attacked_share:.1%} → {outcome.transparent_attacked_share:.1%}"
        expected = (
            f"{outcome.naive_expected_reidentifications:,.0f} → {outcome.transparent_expected_reidentifications:,.0f}"
        )
        table.add_row(
            "→" if outcome.chosen else "",
            outcome.method,
            f"{outcome.publisher_payoff:,.2f}",
            f"{outcome.adversary_payoff:,.2f}",
            f"{100 * outcome.information_kept:.1f}",
            attacked.replace("%", ""),
            expected,
        )
    return table
