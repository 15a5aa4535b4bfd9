"""``releasegate check``: validate request and data, release nothing."""

import os
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain
from typing import Annotated

import typer

from flows.actions.arguments import as_arguments
from flows.actions.check_blocks import check_blocks
from flows.actions.check_notes import unreviewed
from flows.actions.checking import checked_request, refusals
from flows.cli.levels import levels_document, shown_levels
from flows.cli.options import DEFAULT_WORKSPACE, RequestArgument, RootsOption, WorkspaceOption
from flows.cli.output import ExitCode, answer, as_json, console
from flows.workspace.folders import Workspace, workspace_option
from reports.model.document import Block
from tasks.assessments.linkage.holdings import known_attributes
from tasks.core.errors import ReleasegateError
from tasks.core.guard import guarded
from tasks.microdata.level_sizes import prepared_levels
from tasks.request.defaults import Unsaid, unsaid
from tasks.request.public_key import fingerprint, kind_of

_WIDTH, _INDENT = 80, "    "


def check(
    request: RequestArgument,
    root: RootsOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    *,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Also show group sizes by level, and every default that the request does not state."
        ),
    ] = False,
) -> int:
    """Validate a request and its data; release nothing and write nothing.

    Exit code 0 if the data may go on to the gate, 2 if they cannot be used, 3 if validation finds what would block, a
    gate would close on what released columns reveal, an agreement has expired, or a review could not be completed.
    """
    checked = checked_request(request, root or [], workspace)
    loaded, prepared, validation = checked.loaded.request, checked.prepared, checked.validation
    with guarded("check"):
        refused = tuple(refusals(checked.loaded, Workspace(workspace.resolve())))
    notes = (*refused, *checked.notes)
    document = {
        "records": prepared.data.total,
        "rows": len(prepared.tuple_of_row),
        "distinct_tuples": len(prepared.data),
        "population": prepared.people,
        "counted_in": loaded.population.basis.value,
        "validation": validation.model_dump(mode="json"),
        "positions": {name: [row + 1 for row in rows] for name, rows in checked.positions.items()},
        "masking": [one.model_dump(mode="json") for one in checked.masking],
        "deliveries": [
            {
                "recipient": one.id,
                "format": loaded.format_for(one).value,
                "encrypted_to": [{"kind": kind_of(key), "fingerprint": fingerprint(key)} for key in one.encrypt_to],
            }
            for one in loaded.recipients
        ],
        "columns": [
            one.model_dump(mode="json") | {"finding": [each.sentence for each in one.findings], "remedy": one.remedy}
            for one in checked.columns.columns
            if one.findings
        ],
        "unplaced": [one.name for one in checked.columns.unplaced],
        "unreviewed": list(unreviewed(loaded)),
        "known": list(known_attributes(loaded, prepared)),
        "notes": list(notes),
        "without_account": list(checked.without_account),
    }
    defaults = unsaid(loaded) if explain else []
    levels: list[Block] = []
    if explain:
        sizes, few = prepared_levels(prepared, loaded.attributes), loaded.policy.small_cell
        document["defaults"] = [asdict(one) for one in defaults]
        document["levels"] = levels_document(sizes, few)
        levels = shown_levels(sizes, few, of_people=bool(loaded.population.path or loaded.dataset.person))
    code = ExitCode.APPROVED if checked.passed else ExitCode.BLOCKED
    blocks = chain(check_blocks(checked), levels, explained_defaults(defaults))
    answer(document, blocks, code=code, notes=notes)
    if checked.passed and not refused and not as_json.get():
        then = "with --enrol" if _nothing_enrolled(Workspace(workspace.resolve())) else "without --dry-run"
        command = f"releasegate release {as_arguments(request, root or [])}{workspace_option(workspace)} --dry-run"
        console.print(f"\nNext: run `{command}`, which records nothing; then {then}.", soft_wrap=True)
    return code


def _nothing_enrolled(workspace: Workspace) -> bool:
    """Whether a release has to enrol first: a release that was refused may have begun the ledger."""
    # One in a database is begun too, where --enrol changes nothing.
    if not os.path.isfile(workspace.ledger):
        return True
    from flows.workspace.ledger import open_ledger  # noqa: PLC0415  imports the ledger
    from tasks.ledger.enrolment import Directory  # noqa: PLC0415  imports the ledger

    try:
        with open_ledger(workspace) as ledger:
            return Directory.of(ledger).is_empty
    except ReleasegateError:  # the release tells it
        return False


def explained_defaults(defaults: Iterable[Unsaid]) -> Iterator[Block]:
    """Each term with its value and, below, its meaning, in lines of 80 characters; a key is never broken."""
    for number, one in enumerate(defaults):
        if number == 0:
            yield "\nThe request does not state these terms; each has its default:\n"
        head = f"{one.term}: {one.value}"
        stated = [head] if len(head) <= _WIDTH else [f"{one.term}:", *_indented(one.value)]
        of = _indented(f"of {', '.join(one.of)}") if one.of else []
        yield "\n".join([*stated, *_indented(one.meaning), *of])


def _indented(words: str) -> list[str]:
    return textwrap.wrap(
        words,
        _WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
