"""Actions on a decided release besides voting and revoking.

They override its gates, reopen it, comment on it, record its expiry, assess it again, and have it explained. Each is
the function that the command of its name calls.
"""

from http import HTTPStatus

from fastapi import APIRouter
from fastapi.responses import Response

from flows.actions.overruling import override_gates, reopen
from flows.actions.reviewing import comment
from flows.reassessment.stored_records import named_record
from flows.releases.cases import ReleaseAction
from flows.web.authentication import PostedForm
from flows.web.http import Refused, not_allowed, not_found, see_other, sentence
from flows.web.jobs import JobKind
from flows.web.release_pages import CurrentRelease, FormName, ShownRelease, job_of
from flows.web.site import fields, log
from flows.workspace.actor import acting_as
from reports.model.record_view import RecordView
from reports.reassessment import reassessment, render_reassessment
from tasks.core.errors import BadInput, ReleasegateError
from tasks.ledger.entry import Entry, Event

router = APIRouter()

_PLACE = "/releases/{release_id}/{recipient}"
_WHO_REASSESSES = "A delivered copy is assessed again by its requester or by an officer."
_WHO_EXPIRES = "An officer records the end of a release whose last day has passed, once."
_WHO_EXPLAINS = "Its requester, reviewers and officers have it explained."


@router.post(f"{_PLACE}/override")
def override(form: PostedForm, release: CurrentRelease) -> Response:
    """Override failed gates."""
    rows = _rows(release)
    _check_action(release, "override")

    def perform(asked: ReleaseAction) -> str:
        gates = [gate for gate, *_ in rows if form.text(f"gate.{gate}") == "yes"]
        if not gates:
            raise BadInput("no gate was chosen", expected="the failed gates that you override", got="none")
        made = override_gates(asked, gates)
        return (
            f"You have overridden {len(made.gates)} of its gates until {made.valid_until}. This release stays blocked; "
            "the same request, submitted again, makes a new one for this recipient."
        )

    return release.act("override", form, perform, gates=rows)


@router.post(f"{_PLACE}/reopen")
def reopen_release(form: PostedForm, release: CurrentRelease) -> Response:
    """Put a rejected release before its reviewers again."""
    _check_action(release, "reopen")

    def perform(asked: ReleaseAction) -> str:
        reopen(asked)
        return "The release is before its reviewers again. All of them vote anew."

    return release.act("reopen", form, perform)


@router.post(f"{_PLACE}/comment")
def add_comment(form: PostedForm, release: CurrentRelease) -> Response:
    """Comment on it."""
    _check_action(release, "comment")

    def perform(asked: ReleaseAction) -> str:
        comment(asked)
        return "Your comment is in the ledger."

    return release.act("comment", form, perform)


@router.post(f"{_PLACE}/expire")
def expire(form: PostedForm, release: CurrentRelease) -> Response:
    """Record that its last day has passed, as the schedule does."""
    _check(release.may_expire, _WHO_EXPIRES)
    release.visitor.use_form(form.text("once"))
    with (
        acting_as(release.visitor.actor),
        ReleaseAction(
            str(release.found.bundle), release.visitor.site.workspace, clock=release.visitor.site.clock
        ).opened("expiry"),
    ):
        pass
    return _done(release, "Its end is recorded in the ledger.", "expire")


@router.post(f"{_PLACE}/reassess")
def assess_again(form: PostedForm, release: CurrentRelease) -> Response:
    """Begin to assess every copy of the release again, as the schedule does."""
    _check(release.may_reassess, _WHO_REASSESSES)
    return _begin(release, form, JobKind.REASSESS)


@router.post(f"{_PLACE}/explain")
def explain(form: PostedForm, release: CurrentRelease) -> Response:
    """Begin to explain the decision."""
    _check(release.may_have_explained, _WHO_EXPLAINS)
    return _begin(release, form, JobKind.EXPLAIN)


@router.get(_PLACE + "/reassessments/{entry}")
def show_reassessment(release: CurrentRelease, entry: int) -> Response:
    """The record of a re-assessment, as the ledger names it."""
    made = named_record(release.visitor.site.workspace, _reassessed(release, entry))
    return release.page("reassessment.html", made=made, sections=reassessment(made).sections, entry=entry)


@router.get(_PLACE + "/reassessments/{entry}/report.pdf")
def reassessment_report(release: CurrentRelease, entry: int) -> Response:
    """The re-assessment as a PDF with its record attached."""
    made = named_record(release.visitor.site.workspace, _reassessed(release, entry))
    name = f"reassessment-{made.release_id[:12]}-{made.recipient}-{made.reassessed_at:%Y-%m-%d}.pdf"
    headers = {"Content-Disposition": f'inline; filename="{name}"'}
    return Response(render_reassessment(made), media_type="application/pdf", headers=headers)


def _reassessed(release: ShownRelease, number: int) -> Entry:
    """The entry of a re-assessment with a record."""
    found = (one for one in release.found.entries if one.sequence == number and one.event is Event.REASSESSED)
    entry = next(found, None)
    if entry is None or not isinstance(entry.body.get("reassessment_sha256"), str):
        raise not_found()
    return entry


def _rows(release: ShownRelease) -> list[tuple[str, str, str, str]]:
    """Id, title, figure and bound of each gate that may be overridden."""
    ids = {gate.id for gate in release.overridable}
    view = RecordView(release.found.record)
    return [(row.gate.id, row.gate.title, row.measured, row.asked) for row in view.gates if row.gate.id in ids]


@router.get(f"{_PLACE}/{{action}}")
def show_form(release: CurrentRelease, action: FormName) -> Response:
    """The form of an action, where it is the visitor's."""
    _check_action(release, action)
    return release.form(action, gates=_rows(release) if action == "override" else [])


def _check_action(release: ShownRelease, action: FormName) -> None:
    if barred := release.barred(action):
        raise not_allowed(barred)


def _check(allowed: bool, who: str) -> None:
    if not allowed:
        raise not_allowed(who)


def _begin(release: ShownRelease, form: PostedForm, kind: JobKind) -> Response:
    release.visitor.use_form(form.text("once"))
    try:
        release.visitor.site.jobs.start(job_of(release, kind))
    except ReleasegateError as error:
        raise Refused(HTTPStatus.CONFLICT, "This cannot begin now", sentence(error.what)) from None
    return _done(release, "", kind.value)


def _done(release: ShownRelease, notice: str, what: str) -> Response:
    visitor = release.visitor
    visitor.session.notice = notice
    log.info(what, extra=fields(login=visitor.account.login))
    anchor = f"#{what}" if what in set(JobKind) else ""
    return see_other(f"/releases/{release.listed.release_id}/{release.listed.recipient}{anchor}")
