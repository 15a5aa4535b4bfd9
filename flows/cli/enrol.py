"""``releasegate enrol``: the policies, populations and persons that requests may name."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

import typer
from pydantic import ValidationError

from flows.cli.key import PersonRole, ask_passphrase
from flows.cli.options import DEFAULT_WORKSPACE, RequestArgument, RootsOption, WorkspaceOption
from flows.cli.output import answer
from flows.library.catalogue import Library
from flows.library.enrolment import (
    Enrollable,
    end_enrolment,
    first_enrolment,
    item_of,
    items_of,
    population_item,
    stated_sample,
)
from flows.library.enrolment import enrol as enrol_items
from flows.library.policies import PolicyShelf
from flows.library.texts import LARGEST_TEXT, LibraryText, checked_text
from flows.people.persons import login_command
from flows.workspace.folders import Workspace, open_workspace
from flows.workspace.ledger import open_ledger
from reports.model.blocks import outcome, table
from reports.model.document import Block
from tasks.core.errors import BadInput
from tasks.core.guard import guarded
from tasks.core.opening import open_regular
from tasks.core.people import WorkflowRole
from tasks.ledger.enrolment import (
    Directory,
    EnrolledItem,
    EnrolledPerson,
    EnrolledPolicy,
    EnrolledPopulation,
    EnrolledSample,
    EnrolledText,
    title_of,
)
from tasks.reassessment.request import policy_from
from tasks.request.load import load_request
from tasks.request.model import Population

AsOption = Annotated[str, typer.Option("--as", help="Enrolled officer who is responsible for it.", show_default=False)]
TextIdArgument = Annotated[str, typer.Argument(metavar="ID", help="Id in the library.", show_default=False)]
VersionArgument = Annotated[str, typer.Argument(help="Version, in one line.", show_default=False)]

enrol = typer.Typer(
    no_args_is_help=True,
    help="Enrol policies, populations and persons, which requests may then name.\n\n"
    "The first enrolment of a workspace is `releasegate enrol request`; from then on an enrolled "
    "officer makes each, and signs it if they have a key.",
)


@enrol.command()
@guarded("enrolment")
def policy(
    file: Annotated[Path, typer.Argument(help="The policy, YAML, or a request that has it.", show_default=False)],
    officer: AsOption,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Enrol a policy: from now on, its id and version mean this policy and no other."""
    return _enrolled(workspace, policy_from(file), officer)


@enrol.command()
@guarded("enrolment")
def population(
    file: Annotated[Path, typer.Argument(help="Table of counts, CSV or Parquet.", show_default=False)],
    source: Annotated[str, typer.Option(help="Source of the counts, as determinations show it.", show_default=False)],
    officer: AsOption,
    count: Annotated[str, typer.Option(help="Column with the number of people.")] = "count",
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Enrol a population, or a register of named people, by the hash of its file."""
    with _opened(file) as stream:
        table_of_counts = Population(path=file.name, source=source, count=count)
        item = population_item(Workspace(workspace.resolve()), stream, file, table_of_counts)
    return _enrolled(workspace, item, officer)


@enrol.command()
@guarded("enrolment")
def sample(
    source: Annotated[str, typer.Option(help="The people, and the source of their number.", show_default=False)],
    officer: AsOption,
    size: Annotated[int | None, typer.Option(help="People of the population.", min=1)] = None,
    fraction: Annotated[
        float | None, typer.Option(help="Records as a share of the people, above 0 and at most 1.", min=0, max=1)
    ] = None,
    *,
    everybody: Annotated[bool, typer.Option("--everybody", help="The file holds everybody (self).")] = False,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Enrol a population without a table: its size, the share of it that files are, or that everybody is in the file.

    A request names it by the same source and terms. Files are assumed to be random samples of it, unless they have
    everybody.
    """
    terms = {"source": source, "size": size, "sampling_fraction": fraction, "self": everybody}
    return _enrolled(workspace, stated_sample(terms, "--source, --size, --fraction, --everybody"), officer)


@enrol.command()
@guarded("enrolment")
def person(
    person_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the person.", show_default=False)],
    name: Annotated[str, typer.Option(help="Name, as policies spell it.", show_default=False)],
    officer: AsOption,
    *,
    role: Annotated[
        list[PersonRole] | None, typer.Option(help="Role; may be repeated; a regulator needs none.", show_default=False)
    ] = None,
    title: Annotated[str, typer.Option(help="Title or qualification.")] = "",
    login: Annotated[list[str] | None, typer.Option(help="Login of the person; may be repeated.")] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Enrol a person; an enrolled one of the same id gets the new name, title, roles and logins."""
    roles = tuple(map(WorkflowRole, role or ()))
    try:
        item = EnrolledPerson(id=person_id, name=name, title=title, roles=roles, logins=tuple(login or ()))
    except ValidationError:
        raise BadInput(
            "the person is not valid",
            where="ID, --name, --title or --login",
            expected="an id of 1 to 64 lower-case letters, digits and . _ @ + -; other text in one printable line",
            got="a value of another form",
            fix="correct it",
        ) from None
    return _enrolled(workspace, item, officer)


@enrol.command()
@guarded("enrolment")
def request(file: RequestArgument, workspace: WorkspaceOption = DEFAULT_WORKSPACE, root: RootsOption = None) -> int:
    """Make the first enrolment of a workspace: policy, population, register and persons of a request.

    Refused where something is enrolled already. The requester gets your login, and is the officer where the policy
    names none.
    """
    loaded, place = load_request(file, root or (), PolicyShelf(workspace, begins=True)), open_workspace(workspace)
    with open_ledger(place, create=True) as ledger:
        items = items_of(place, loaded)
        first_enrolment(place, ledger, items)
    enrolled = tuple(map(item_of, items))
    return _report("enrolled", enrolled, notes=login_notes(enrolled))


@enrol.command()
@guarded("enrolment")
def hierarchy(
    text_id: TextIdArgument,
    version: VersionArgument,
    file: Annotated[Path, typer.Argument(help="CSV as ARX has it: leaf;level 1;…;top.", show_default=False)],
    officer: AsOption,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Enrol a hierarchy under an id and version; the workspace keeps its text."""
    return _text_enrolled(workspace, "hierarchy", (text_id, version), file, officer)


@enrol.command()
@guarded("enrolment")
def template(
    text_id: TextIdArgument,
    version: VersionArgument,
    file: Annotated[Path, typer.Argument(help="YAML: a request that may have blanks.", show_default=False)],
    officer: AsOption,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Enrol a template of requests under an id and version; the workspace keeps its text."""
    return _text_enrolled(workspace, "template", (text_id, version), file, officer)


@enrol.command()
@guarded("enrolments")
def text(
    kind: Annotated[str, typer.Argument(help="policy, hierarchy or template.", show_default=False)],
    name: Annotated[str, typer.Argument(help="ID/VERSION, as listed; also one that has ended.", show_default=False)],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Print the stored text of a policy, hierarchy or template, once it is compared with the ledger."""
    text_id, _, version = name.partition("/")
    library = Library.of(Workspace(workspace.resolve()))
    found = library.find(kind, text_id, version)
    if found is None or not found.has_text:
        raise BadInput(
            "there is no such text",
            where="KIND, NAME",
            expected="a policy, hierarchy or template by ID/VERSION",
            got="none of these",
            fix="releasegate enrol list shows them",
        )
    sys.stdout.write(library.text(found))
    return 0


@enrol.command("list")
@guarded("enrolments")
def show(workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> int:
    """List what is enrolled."""
    with open_ledger(Workspace(workspace.resolve())) as ledger:
        items = tuple(Directory.of(ledger))
    shown = table("", ("enrolled", "details"), [(title_of(one), _details(one)) for one in items])
    document = {"enrolled": [one.model_dump(mode="json") for one in items]}
    return answer(document, shown if items else ["nothing is enrolled"])


@enrol.command()
@guarded("enrolment")
def end(
    kind: Annotated[
        str, typer.Argument(help="policy, population, sample, hierarchy, template or person.", show_default=False)
    ],
    name: Annotated[
        str, typer.Argument(help="ID/VERSION, first digits of the SHA-256, or id, as listed.", show_default=False)
    ],
    officer: AsOption,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """End an enrolment: no further release rests on it. What was decided stays as it is."""
    place = Workspace(workspace.resolve())
    with open_ledger(place) as ledger:
        found = [one for one in Directory.of(ledger) if one.kind == kind and _is_named(one, name)]
    if len(found) != 1:
        raise BadInput(
            "there is no such enrolment" if not found else "several enrolments begin so",
            where="NAME",
            expected="a kind and a name that releasegate enrol list shows",
            got=f"{len(found)} that fit",
            fix="check both",
        )
    end_enrolment(place, found[0], officer, _key_file(), ask=ask_passphrase)
    return _report("ended", found)


def _text_enrolled(
    workspace: Path, kind: Literal["hierarchy", "template"], name: tuple[str, str], file: Path, officer: str
) -> int:
    with _opened(file) as stream:
        text = LibraryText(kind, *name, stream.read(LARGEST_TEXT + 1))
    item_of(text)  # refuses id and version before the content
    return _enrolled(workspace, checked_text(Workspace(workspace.resolve()), text), officer)


def _enrolled(workspace: Path, item: Enrollable, officer: str) -> int:
    before = enrol_items(Workspace(workspace.resolve()), [item], officer, _key_file(), ask=ask_passphrase)
    return _report("enrolled", [item_of(item)], _beside(item_of(item), *before) if before else [])


def _beside(item: EnrolledItem, before: EnrolledItem, at: datetime) -> list[str]:
    """Line on the enrolment that a new one takes the place of."""
    if before == item:
        return [f"  was enrolled already, on {at:%Y-%m-%d}"]
    return [f"  replaces the enrolment of {at:%Y-%m-%d}: {_details(before)}"]


def _opened(file: Path) -> BinaryIO:
    try:
        return open_regular(file)
    except OSError as error:
        raise BadInput(
            "the file cannot be read",
            where=str(file),
            expected="a readable file",
            got=type(error).__name__,
            fix="correct the path, or check its permissions",
        ) from None


def _key_file() -> Path | None:
    file = os.environ.get("RELEASEGATE_KEY_FILE")
    return Path(file) if file else None


def _is_named(item: EnrolledItem, name: str) -> bool:
    if isinstance(item, EnrolledPopulation | EnrolledSample):
        return len(name) >= 6 and item.sha256.startswith(name)
    return name == (f"{item.id}/{item.version}" if isinstance(item, EnrolledPolicy | EnrolledText) else item.id)


def _report(verb: str, items: Sequence[EnrolledItem], beside: Iterable[Block] = (), notes: Iterable[str] = ()) -> int:
    document = {verb: [one.model_dump(mode="json") for one in items]}
    return answer(document, [*item_lines(verb, items), *beside], notes=notes)


def item_lines(verb: str, items: Iterable[EnrolledItem]) -> Iterator[Block]:
    """A line on each item that was enrolled, or whose enrolment was ended."""
    return (outcome(verb, f": {title_of(one)}", aside=f" {_details(one)}") for one in items)


def login_notes(items: Iterable[EnrolledItem]) -> Iterator[str]:
    """Note on reviewers and officers whom a first enrolment gives no login."""
    people = [one for one in items if isinstance(one, EnrolledPerson)]
    officer = next((one.id for one in people if WorkflowRole.OFFICER in one.roles), "OFFICER")
    if without := [one for one in people if not one.logins]:
        yield (
            f"no login is enrolled for {', '.join(one.id for one in without)}, who may act from any that is nobody "
            f"else's; an officer adds one: {login_command(without[0], officer)}"
        )


def _details(item: EnrolledItem) -> str:
    if isinstance(item, EnrolledPolicy | EnrolledText):
        return f"SHA-256 {item.sha256}"
    if isinstance(item, EnrolledPopulation):
        return f"{item.people:,} people in column “{item.count}”, from “{item.source}”"
    if isinstance(item, EnrolledSample) and item.everybody:
        return f"everybody is in the file, “{item.source}”"
    if isinstance(item, EnrolledSample):
        stated = f"{item.size:,} people" if item.size else f"sampling fraction {item.sampling_fraction:g}"
        return f"{stated}, “{item.source}”"
    name = "" if item.name == item.id else item.name
    return ", ".join(filter(None, (name, item.title, *item.roles, *(f"login {one}" for one in item.logins))))
