"""Pages for requesting: upload a file, see and change columns, terms and designs, run the gate, read the decision.

Every page works without scripts by plain forms. What a page changes is in the request's document, which it shows and
hands out as it is. Values of the data appear in two places alone, distributions and groups of values of the visitor's
own file, and there only those of as many records as the policy's smallest cell.
"""

import shutil
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from flows.actions.drafting import drafted
from flows.releases.cases import case_of
from flows.studio.columns import attributes_of, known_changes, role_changes
from flows.studio.desk import GIVEN, title_of
from flows.studio.from_template import begin, templates
from flows.studio.project import ReadRequest
from flows.studio.quick import DesignSearch, changed, possible_designs
from flows.studio.studio import Studio
from flows.studio.terms import elsewhere, labels_of, new_recipient, recipients, term_changes, term_groups
from flows.web.authentication import CurrentVisitor
from flows.web.evidence import IndexedRelease
from flows.web.http import not_found, number_of, problem_of, see_other
from flows.web.site import Site, Visitor
from flows.web.studio_figures import design_chart, gate_rows, kept_in_words
from flows.web.studio_project import CurrentProject, CurrentStudio, ShownProject, StudioForm
from flows.web.uploads import LARGEST_UPLOAD, CurrentUpload
from flows.workspace.ledger import open_ledger
from reports.model.record_view import RecordView
from reports.sections.answer import usefulness
from tasks.audit.history import texts
from tasks.core.errors import BadInput, ReleasegateError
from tasks.decision.record import Verdict
from tasks.decision.remedies import remedies
from tasks.request.document import REQUEST_FILE
from tasks.request.model import Role

router = APIRouter()

_SECONDS = 1.5
"""Time that a page spends on designs before it shows what there is."""
_ROLES = tuple(role.value for role in Role)


@router.get("/requests")
def show_requests(visitor: CurrentVisitor, studio: CurrentStudio) -> Response:
    """The visitor's requests, and a form for a new file."""
    return _requests(visitor, studio, None)


@router.post("/requests")
def hand_in(visitor: CurrentVisitor, studio: CurrentStudio, upload: CurrentUpload) -> Response:
    """Draft a request for a file that was uploaded."""
    site = visitor.site
    site.limit((site.limits.actions, visitor.account.login))
    folder = studio.desk.new_folder(visitor.account.login)
    try:
        data = upload.keep("data", folder, {REQUEST_FILE})
        if not data:
            raise BadInput("no file was chosen", expected="a data file", got="none", fix="choose one")
        people = upload.keep("population", folder, {REQUEST_FILE, *(one.name for one in data)})
        counts, template = people[0] if people else None, upload.form.text("template")
        if template:
            begin(site.workspace, template, folder, data, counts)
        else:
            stated = dict(one.split("=", 1) for one in upload.form.text("form").split() if "=" in one)
            drafted(data, folder, population=counts, stated=stated)
    except ReleasegateError as error:
        shutil.rmtree(folder)
        return _requests(visitor, studio, error)
    visitor.session.notice = "The request is drafted. Look at every column: its role decides what happens to it."
    return see_other(f"/requests/{folder.name}/columns")


def _requests(visitor: Visitor, studio: Studio, error: ReleasegateError | None) -> Response:
    projects = studio.desk.projects(visitor.account.login)
    return visitor.form(
        "studio/requests.html",
        error,
        projects=[(one.name, title) for one in projects if (title := title_of(one))],
        largest=LARGEST_UPLOAD // 2**20,
        templates=templates(visitor.site.workspace) if visitor.has_account else (),
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
        if not found:
            return "The check found nothing that would block the release."
        return f"The check found {found:,} {'reason' if found == 1 else 'reasons'} to block the release."

    return shown.changed(work, "columns", lambda error: _columns(shown, error))


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
        return ""  # the page itself says how far it is

    return shown.changed(work, "run", lambda error: _run(shown, error))


def _run(shown: ShownProject, error: ReleasegateError | None) -> Response:
    state = shown.studio.runs.state(shown.project)
    decided = []
    if state is not None and state.release_id:
        site = shown.visitor.site
        decided = [
            (one, texts(one.case.decided, "reasons") or (), *_remedies_and_use(site, one))
            for one in site.releases.all(site.clock().date())
            if one.release_id == state.release_id and one.recipient in state.recipients
        ]
    return shown.page(
        "run.html",
        "run",
        error=error,
        state=state,
        decided=decided,
        labels=labels_of(term_groups(shown.read)),
        is_of_this=state is not None and state.request_sha256 in ("", shown.read.sha256),
    )


def _remedies_and_use(site: Site, one: IndexedRelease) -> tuple[tuple[str, ...], str | None]:
    """Changes that may open the closed gates of a blocked release, and a sentence on what its copy keeps."""
    with open_ledger(site.workspace) as ledger:
        record = case_of(site.workspace, ledger, one.release_id, one.recipient, site.clock()).record
    return remedies(record) if record.decision is Verdict.BLOCKED else (), usefulness(RecordView(record))


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
    return shown.page(
        "document.html",
        "document",
        error=error,
        text=text,
        whole=whole,
        place=place,
        may_remove=shown.project.name != GIVEN,
    )


@router.get("/requests/{name}/request.yaml")
def download(shown: CurrentProject) -> Response:
    """The request as YAML, byte for byte."""
    headers = {"Content-Disposition": f'attachment; filename="{REQUEST_FILE}"'}
    return Response(shown.read.text.encode(), media_type="application/yaml", headers=headers)


@router.post("/requests/{name}/remove")
def remove(shown: CurrentProject, form: StudioForm) -> Response:
    """Remove a request with the files that were uploaded with it; what was decided stays."""
    try:
        state = shown.studio.runs.state(shown.project)
        if form.text("sure") != "yes":
            raise BadInput("the removal is not confirmed", expected="a tick in its box", got="no tick")
        if state is not None and state.is_running:
            raise BadInput("a run is under way", expected="a run that has ended", got="one that reads these files")
        shown.studio.desk.remove(shown.project)
    except ReleasegateError as error:
        return _document(shown, shown.read.text, error)
    shown.visitor.session.notice = "The request is removed with its files."
    return see_other("/requests")
