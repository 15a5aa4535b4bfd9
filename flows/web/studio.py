"""Pages for requesting: hand in a file, see and change columns, terms and designs, run the gate, read the decision.

Every page works without scripts by plain forms. What a page changes is in the request's document, which it shows and
hands out as it is. Values of the data appear in two places alone, distributions and groups of values of the visitor's
own file, and there only those of as many records as the policy's smallest cell.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import HTMLResponse, Response

from flows.accounts import Duty
from flows.drafting import drafted
from flows.studio.columns import FileColumn, ShownColumn, attributes_of, known_changes, role_changes, shown_columns
from flows.studio.desk import titles
from flows.studio.grouping import Grouping, grouped, grouping, source_changes
from flows.studio.project import Project, ReadRequest
from flows.studio.quick import DesignSearch, LevelSize, changed, possible_designs
from flows.studio.studio import Studio
from flows.studio.terms import elsewhere, new_recipient, recipients, term_changes, term_groups
from flows.web.authentication import CurrentVisitor, SubmittedForm, bounded_form, own_form
from flows.web.site import Visitor, not_allowed, not_found, number_of, see_other, sentence
from flows.web.studio_figures import design_chart, gate_rows, kept_in_words
from flows.web.uploads import LARGEST_UPLOAD, CurrentUpload
from tasks.audit.cells import LIMIT
from tasks.audit.history import texts
from tasks.core.errors import BadInput, ReleasegateError
from tasks.draft.draft import REQUEST_FILE
from tasks.microdata.hierarchy import Hierarchy
from tasks.request.document import MAXIMUM_BYTES, Location
from tasks.request.load import LoadedRequest
from tasks.request.model import DatePeriod, Role

router = APIRouter()

_LARGEST_FORM = 3 * MAXIMUM_BYTES
_MOST_FIELDS = 2000
_SECONDS = 1.5
"""Time that a page spends on designs before it shows what there is."""
_ROLES = tuple(role.value for role in Role)


def studio_of(request: Request, visitor: CurrentVisitor) -> Studio:
    """The studio, for those who may request releases."""
    if not visitor.has(Duty.REQUESTER):
        raise not_allowed("Requests are written by people whose account has the role requester.")
    found: Studio = request.app.state.studio
    return found


CurrentStudio = Annotated[Studio, Depends(studio_of)]


@dataclass(frozen=True)
class ShownProject:
    """A project for the visitor whose it is."""

    visitor: Visitor
    studio: Studio
    project: Project
    read: ReadRequest

    @property
    def address(self) -> str:
        """Address of its pages."""
        return f"/requests/{self.project.name}"

    @property
    def least(self) -> int:
        """Fewest records of a value that is shown."""
        found = self.read.trial
        return LIMIT if found is None else found.request.policy.small_cell

    @property
    def fewest(self) -> int:
        """Fewest records that a class may have."""
        found = self.read.trial
        return LIMIT if found is None else max(2, found.request.fewest_records)

    def files(self) -> tuple[dict[str, FileColumn], ReleasegateError | None]:
        """Columns of the files, or the reason why they cannot be read."""
        if self.read.columns is None:
            return {}, self.read.error
        try:
            return self.studio.columns.read(self.read.columns), None
        except ReleasegateError as error:
            return {}, error

    def columns(self) -> tuple[list[ShownColumn], ReleasegateError | None]:
        """The columns as they are shown, and why their values cannot be."""
        files, error = self.files()
        checked = self.studio.checks.last(self.project, self.read.sha256)
        found = {} if checked is None else checked.of_columns
        return shown_columns(self.read, files, self.least, found), error

    def page(self, template: str, tab: str, *, error: ReleasegateError | None = None, **context: Any) -> HTMLResponse:
        """One of its pages; with an error, the page says that nothing was done."""
        return self.visitor.page(
            f"studio/{template}",
            status=HTTPStatus.OK if error is None else HTTPStatus.UNPROCESSABLE_ENTITY,
            address=self.address,
            tab=tab,
            read=self.read,
            title=str(self.read.value(("title",)) or "Draft"),
            problem=None if error is None else problem_of(error),
            blanks=sum(1 for one in self.read.problems if one.what in ("no value", "a missing key")),
            **context,
        )

    def changed(self, work: Callable[[], str], back: str, shown: Callable[[ReleasegateError], Response]) -> Response:
        """Make a change and show a page with a notice, or show the form again with the error."""
        try:
            self.visitor.session.notice = work()
        except ReleasegateError as error:
            return shown(error)
        return see_other(f"{self.address}/{back}")


def project_of(
    visitor: CurrentVisitor, studio: CurrentStudio, name: Annotated[str, Path(pattern=r"^(?:[0-9a-f]{12}|given)$")]
) -> ShownProject:
    """A project of the visitor."""
    project = studio.desk.project(visitor.account.login, name)
    if project is None:
        raise not_found()
    return ShownProject(visitor, studio, project, project.read())


CurrentProject = Annotated[ShownProject, Depends(project_of)]


async def studio_form(request: Request, visitor: CurrentVisitor) -> SubmittedForm:
    """A form with as many fields as a request may have columns; errors as of ``posted_form``."""
    return own_form(request, visitor, await bounded_form(request, _LARGEST_FORM, _MOST_FIELDS))


StudioForm = Annotated[SubmittedForm, Depends(studio_form)]


@router.get("/requests")
def show_requests(visitor: CurrentVisitor, studio: CurrentStudio) -> Response:
    """The visitor's requests, and a form for a new file."""
    return _requests(visitor, studio, None)


@router.post("/requests")
def hand_in(visitor: CurrentVisitor, studio: CurrentStudio, upload: CurrentUpload) -> Response:
    """Draft a request for a file that was handed in."""
    site = visitor.site
    site.limit((site.limits.actions, visitor.account.login))
    folder = studio.desk.new_folder(visitor.account.login)
    try:
        data = upload.keep("data", folder, frozenset({REQUEST_FILE}))
        if data is None:
            raise BadInput("no file was chosen", expected="a data file", got="none", fix="choose one")
        people = upload.keep("population", folder, frozenset({REQUEST_FILE, data.name}))
        stated = dict(one.split("=", 1) for one in upload.form.text("form").split() if "=" in one)
        drafted([data], folder, population=people, stated=stated)
    except ReleasegateError as error:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
        return _requests(visitor, studio, error)
    visitor.session.notice = "The request is drafted. Look at every column: its role decides what happens to it."
    return see_other(f"/requests/{folder.name}/columns")


def _requests(visitor: Visitor, studio: Studio, error: ReleasegateError | None) -> Response:
    projects = studio.desk.projects(visitor.account.login)
    return visitor.page(
        "studio/requests.html",
        status=HTTPStatus.OK if error is None else HTTPStatus.UNPROCESSABLE_ENTITY,
        projects=[(one.name, title) for one in projects if (title := titles([one])[one.name])],
        problem=None if error is None else problem_of(error),
        largest=LARGEST_UPLOAD // 2**20,
    )


@router.get("/requests/{name}")
def show_project(shown: CurrentProject) -> Response:
    """The first page of a request."""
    return see_other(f"{shown.address}/columns")


@router.get("/requests/{name}/columns")
def show_columns(shown: CurrentProject) -> Response:
    """Columns with role, reason, mistakes and distribution."""
    return _columns(shown, None)


@router.post("/requests/{name}/columns")
def change_roles(shown: CurrentProject, form: StudioForm) -> Response:
    """Give columns other roles."""

    def work() -> str:
        files, _ = shown.files()
        names = list(attributes_of(shown.read.data))
        wanted = {name: form.text(f"role.{position}") for position, name in enumerate(names, start=1)}
        answers = {name: form.text(f"known.{position}") for position, name in enumerate(names, start=1)}
        changes, tables = role_changes(shown.read, files, wanted)
        gone = {place for place, value in changes.items() if value is None}
        changes |= {place: one for place, one in known_changes(shown.read, answers).items() if place not in gone}
        if not changes:
            return "No role was changed."
        shown.project.change(changes, tables)
        return "The roles are saved."

    return shown.changed(work, "columns", lambda error: _columns(shown, error))


def _columns(shown: ShownProject, error: ReleasegateError | None) -> Response:
    columns, unreadable = shown.columns()
    checked = shown.studio.checks.last(shown.project, shown.read.sha256)
    return shown.page(
        "columns.html",
        "columns",
        error=error,
        columns=columns,
        roles=_ROLES,
        unreadable=None if unreadable is None else problem_of(unreadable),
        least=shown.least,
        checked=checked,
        of_table=() if checked is None else checked.of_columns.get("", ()),
    )


@router.post("/requests/{name}/check")
def check_data(shown: CurrentProject, _: StudioForm) -> Response:
    """Check request and data as ``releasegate check`` does; findings stand at their columns."""

    def work() -> str:
        found = shown.studio.checks.check(shown.project).found
        return "The check found nothing that would block the release." if not found else f"The check found {found:,}."

    return shown.changed(work, "columns", lambda error: _columns(shown, error))


@router.get("/requests/{name}/columns/{position}")
def show_hierarchy(shown: CurrentProject, position: Annotated[int, Path(ge=1, le=100_000)]) -> Response:
    """Levels of a quasi-identifier with the sizes of their groups, and fields to change them."""
    return _hierarchy(shown, position, None)


@router.post("/requests/{name}/columns/{position}")
def change_hierarchy(
    shown: CurrentProject, position: Annotated[int, Path(ge=1, le=100_000)], form: StudioForm
) -> Response:
    """Change the levels of a quasi-identifier, or preview them."""
    column = _quasi(shown, position)
    place: Location = (*column.place, "hierarchy")
    if form.text("do") == "preview":
        return _hierarchy(shown, position, None, form)

    def work() -> str:
        if form.text("kind") == "groups":
            name = f"hierarchy-{position}.csv"
            table, _ = _grouped(shown, column, form)
            shown.project.change({place: {"file": name}}, {name: table})
        else:
            shown.project.change({place: source_changes(_source(shown, column), form.fields)})
        return f"The levels of {column.name} are saved."

    return shown.changed(work, f"columns/{position}", lambda error: _hierarchy(shown, position, error, form))


def _quasi(shown: ShownProject, position: int) -> ShownColumn:
    columns, _ = shown.columns()
    column = next((one for one in columns if one.position == position and one.is_quasi), None)
    if column is None:
        raise not_found()
    return column


def _source(shown: ShownProject, column: ShownColumn) -> dict[str, Any]:
    """The source of a column's hierarchy as the document states it."""
    source = shown.read.value((*column.place, "hierarchy"))
    return source if isinstance(source, dict) else {}


def _trial(shown: ShownProject, changes: Mapping[Location, Any]) -> LoadedRequest:
    """The request on trial with changes; its own error where it has mistakes."""
    found = shown.project.trial(changed(shown.read.data, changes)) if changes else shown.read.trial
    if found is None:
        raise (shown.project.mistake(changed(shown.read.data, changes)) if changes else shown.read.error) or _mistaken()
    return found


def _mistaken() -> BadInput:
    return BadInput("the request has mistakes", expected="none", got="some", fix="correct them first")


def _grouped(shown: ShownProject, column: ShownColumn, form: SubmittedForm) -> tuple[Hierarchy, Grouping]:
    """The hierarchy that a form's groups make, and the groups as they were sent."""
    files, unreadable = shown.files()
    if column.name not in files:
        raise unreadable or _mistaken()
    tree = shown.studio.quick.tree(_trial(shown, {}), column.name)
    found = grouping(tree, files[column.name], shown.least)
    groups = {one.number: form.text(f"group.{one.number}") for one in found.values}
    sent = replace(
        found,
        values=tuple(replace(one, group=groups[one.number]) for one in found.values),
        rare_group=form.text("rare") or found.rare_group,
    )
    return grouped(column.name, tree, found, groups, sent.rare_group), sent


def _hierarchy(
    shown: ShownProject, position: int, error: ReleasegateError | None, form: SubmittedForm | None = None
) -> Response:
    """Levels with group sizes; with a form, those that it asks for, and its fields as they were sent."""
    column = _quasi(shown, position)
    source, quick = _source(shown, column), shown.studio.quick
    levels, values, unseen = list[LevelSize](), None, error
    asks_for_groups = form is not None and form.text("kind") == "groups"
    by_value = "file" in source or "groups" in source
    try:
        if form is not None and not asks_for_groups:
            source = source_changes(source, form.fields)
            levels = quick.levels(_trial(shown, {(*column.place, "hierarchy"): source}), column.name, shown.fewest)
        elif form is not None:
            table, values = _grouped(shown, column, form)
            levels = quick.levels(_trial(shown, {}), column.name, shown.fewest, table)
        else:
            levels = quick.levels(_trial(shown, {}), column.name, shown.fewest)
        files, _ = shown.files()
        if by_value and values is None and column.name in files:
            values = grouping(quick.tree(_trial(shown, {}), column.name), files[column.name], shown.least)
    except ReleasegateError as found:
        unseen = unseen or found
    return shown.page(
        "hierarchy.html",
        "columns",
        error=error,
        column=column,
        source=source,
        levels=levels,
        values=values,
        is_preview=form is not None,
        unseen=None if unseen is None or error is not None else problem_of(unseen),
        periods=[period.value for period in DatePeriod],
        fewest=shown.fewest,
        least=shown.least,
    )


@router.get("/requests/{name}/terms")
def show_terms(shown: CurrentProject, figures: str = "") -> Response:
    """Terms with quick figures of risk and information kept."""
    return _terms(shown, None, with_figures=bool(figures))


@router.post("/requests/{name}/terms")
def change_terms(shown: CurrentProject, form: StudioForm) -> Response:
    """Save terms; add or remove a recipient."""

    def work() -> str:
        changes = term_changes(shown.read, form.fields)
        if form.text("do") == "add":
            changes |= new_recipient(shown.read)
        for number in range(recipients(shown.read.data)):
            if form.text("do") == f"remove.{number}":
                changes = {place: one for place, one in changes.items() if place[:2] != ("recipients", number)}
                changes |= {("recipients", number): None}
        if not changes:
            return "No term was changed."
        shown.project.change(changes)
        return "The terms are saved."

    return shown.changed(work, "terms?figures=1", lambda error: _terms(shown, error, with_figures=False))


@router.post("/requests/{name}/figures")
def try_terms(shown: CurrentProject, form: StudioForm) -> Response:
    """Quick figures of terms that are not saved."""
    try:
        found = _figures(shown, changed(shown.read.data, term_changes(shown.read, form.fields)))
    except ReleasegateError as error:
        found = {"figures": None, "unseen": problem_of(error)}
    return shown.visitor.page("studio/figures.html", live=True, **found)


def _terms(shown: ShownProject, error: ReleasegateError | None, *, with_figures: bool) -> Response:
    groups = term_groups(shown.read)
    figures = _figures(shown, shown.read.data) if with_figures else {"figures": None, "unseen": None}
    return shown.page(
        "terms.html", "terms", error=error, groups=groups, others=elsewhere(shown.read, groups), **figures
    )


def _figures(shown: ShownProject, data: Mapping[str, Any]) -> dict[str, Any]:
    """Quick figures of every recipient under some terms, or why there are none."""
    trial = shown.project.trial(data)
    stated = ReadRequest("", data, (), None, trial, None).has_stakes
    if trial is None or not stated:
        words = "State benefit, loss and cost of every recipient first." if trial else "Correct the mistakes first."
        return {"figures": None, "unseen": {"what": words, "expected": "", "got": "", "fix": ""}}
    try:
        found = [shown.studio.quick.figures(trial, one.id) for one in trial.request.recipients]
    except ReleasegateError as error:
        return {"figures": None, "unseen": problem_of(error)}
    return {"figures": [(one, kept_in_words(one), gate_rows(one)) for one in found], "unseen": None}


@router.get("/requests/{name}/designs")
def show_designs(shown: CurrentProject, recipient: int = 1) -> Response:
    """Payoff against risk of other ways to generalize for a recipient."""
    return _designs(shown, recipient - 1, None)


@router.post("/requests/{name}/designs")
def use_design(shown: CurrentProject, form: StudioForm) -> Response:
    """Write a design into the request."""
    number = number_of(form.text("recipient")) - 1
    if not 0 <= number < recipients(shown.read.data):
        raise not_found()

    def work() -> str:
        design = next((one for one in possible_designs(shown.read, number) if one.name == form.text("design")), None)
        if design is None:
            raise BadInput("there is no such design", expected="one of the table", got="another", fix="choose it anew")
        if design.changes:
            shown.project.change(design.changes)
        return f"The request now says: {design.name}."

    return shown.changed(work, f"designs?recipient={number + 1}", lambda error: _designs(shown, number, error))


def _designs(shown: ShownProject, number: int, error: ReleasegateError | None) -> Response:
    found: DesignSearch | None = None
    unseen: dict[str, str] | None = None
    ids = [shown.read.value(("recipients", at, "id")) for at in range(recipients(shown.read.data))]
    named = [one if isinstance(one, str) else f"recipient {at}" for at, one in enumerate(ids, start=1)]
    if not 0 <= number < len(named):
        raise not_found()
    if shown.read.trial is None or not shown.read.has_stakes:
        unseen = {"what": "State the terms of the recipients first.", "expected": "", "got": "", "fix": ""}
    else:
        try:
            found = shown.studio.quick.designs(shown.project, shown.read, number, _SECONDS)
        except ReleasegateError as failed:
            unseen = problem_of(failed)
    return shown.page(
        "designs.html",
        "designs",
        error=error,
        found=found,
        chart=None if found is None else design_chart(found),
        unseen=unseen,
        recipients=named,
        number=number + 1,
    )


@router.get("/requests/{name}/run")
def show_run(shown: CurrentProject) -> Response:
    """The run of the gate with its progress, and its decision."""
    return _run(shown, None)


@router.post("/requests/{name}/run")
def begin_run(shown: CurrentProject, _: StudioForm) -> Response:
    """Run the gate on the request as it is."""
    site = shown.visitor.site
    site.limit((site.limits.actions, shown.visitor.account.login))

    def work() -> str:
        if shown.read.error is not None:
            raise shown.read.error
        shown.studio.runs.start(shown.project, shown.visitor.account.login)
        return "The run has begun."

    return shown.changed(work, "run", lambda error: _run(shown, error))


def _run(shown: ShownProject, error: ReleasegateError | None) -> Response:
    state = shown.studio.runs.state(shown.project)
    decided = []
    if state is not None and state.release_id:
        site = shown.visitor.site
        decided = [
            (one, texts(one.case.decided, "reasons") or ())
            for one in site.releases.all(site.clock().date())
            if one.release_id == state.release_id and one.recipient in state.recipients
        ]
    return shown.page(
        "run.html",
        "run",
        error=error,
        state=state,
        decided=decided,
        is_of_this=state is not None and state.request_sha256 in ("", shown.read.sha256),
    )


@router.get("/requests/{name}/document")
def show_document(shown: CurrentProject) -> Response:
    """The request as text, which may be changed."""
    return _document(shown, shown.read.text, None)


@router.post("/requests/{name}/document")
def change_document(shown: CurrentProject, form: StudioForm) -> Response:
    """Put other text in place of the request."""

    def work() -> str:
        shown.project.replace(form.text("text"), form.text("seen"))
        return "The request is saved."

    return shown.changed(work, "document", lambda error: _document(shown, form.text("text"), error))


def _document(shown: ShownProject, text: str, error: ReleasegateError | None) -> Response:
    failed = shown.read.error
    whole = None if failed is None or shown.read.problems else problem_of(failed)
    # Where the file lies is for the person at the machine alone.
    place = str(shown.project.path) if shown.visitor.site.door else ""
    return shown.page("document.html", "document", error=error, text=text, whole=whole, place=place)


@router.get("/requests/{name}/request.yaml")
def download(shown: CurrentProject) -> Response:
    """The request as YAML, byte for byte."""
    headers = {"Content-Disposition": f'attachment; filename="{REQUEST_FILE}"'}
    return Response(shown.read.text.encode(), media_type="application/yaml", headers=headers)


def problem_of(error: ReleasegateError) -> dict[str, str]:
    """An error for the page, whose own request it is about: all parts but the places of files."""
    return {"what": sentence(error.what), "expected": error.expected, "got": error.got, "fix": error.fix}
