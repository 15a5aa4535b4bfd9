"""The library: enrolled policies, populations, hierarchies and templates, with versions, differences and uses.

Everybody with an account sees it. Enrolled officers enrol and end enrolments by the functions of the commands, signed
where their key is registered.
"""

from collections.abc import Callable
from pathlib import Path as Folder
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path
from fastapi.responses import Response
from pydantic import ValidationError
from starlette.datastructures import UploadFile

from flows.library.catalogue import Library, LibraryItem
from flows.library.enrolment import Enrollable, end_enrolment, enrol, item_of, population_item, stated_sample
from flows.library.text_difference import compared
from flows.library.texts import LARGEST_TEXT, LibraryText, checked_text
from flows.people.signing import SentKey, key_in_force
from flows.web.account_pages import confirmed
from flows.web.authentication import CurrentVisitor, PostedForm, SubmittedForm
from flows.web.http import not_found, number_of, see_other
from flows.web.people_pages import CurrentOfficer
from flows.web.site import Visitor, fields, log
from flows.web.uploads import CurrentUpload, Upload
from flows.workspace.actor import acting_as
from flows.workspace.ledger import open_ledger
from flows.workspace.temporary import held_folder
from tasks.core.errors import BadInput, ReleasegateError
from tasks.ledger.enrolment import title_of
from tasks.ledger.signing import RegisteredKey
from tasks.reassessment.request import policy_from
from tasks.request.model import Population

router = APIRouter()

KINDS = {
    "policy": "Policies",
    "population": "Populations",
    "sample": "Populations without a table",
    "hierarchy": "Hierarchies",
    "template": "Templates of requests",
}
_LARGEST_KEY = 16_384
_SHOWN = 2_000
"""Lines of a text that a page shows; the file has all."""
_USES = 25

Kind = Literal["policy", "population", "sample", "hierarchy", "template"]
_Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9._@+-]{1,128}$")]


@router.get("/library")
def show(visitor: CurrentVisitor) -> Response:
    """All items by kind."""
    items = Library.of(visitor.site.workspace).items
    of_kinds = {kind: [one for one in items if one.kind == kind] for kind in KINDS}
    return visitor.page("library.html", kinds=KINDS, items=of_kinds)


@router.get("/library/enrol/{kind}")
def show_form(visitor: CurrentOfficer, kind: Kind) -> Response:
    """The form to enrol an item."""
    return _form(visitor, kind)


@router.post("/library/enrol/{kind}")
def enrol_item(visitor: CurrentOfficer, kind: Kind, upload: CurrentUpload) -> Response:
    """Enrol an item in the officer's name."""
    site, form = visitor.site, upload.form

    def work() -> Response:
        with held_folder(site.workspace.private) as folder:
            item = _item(visitor, kind, upload, folder)
            sent = SentKey(_key(upload), form.text("passphrase"))
            _as_officer(visitor, lambda by: enrol(site.workspace, [item], by, sent, clock=site.clock))
        return _done(visitor, "enrolled", kind, f"Enrolled: {title_of(item_of(item))}.")

    return confirmed(visitor, form, work, lambda error: _form(visitor, kind, form, error))


@router.get("/library/{kind}/{name}")
def show_item(visitor: CurrentVisitor, kind: Kind, name: _Name, version: str = "", beside: str = "") -> Response:
    """One item: who enrolled it, where it is used, its text, and the differences from another version."""
    return _item_page(visitor, _item_of(visitor, kind, name, version), beside)


@router.get("/library/{kind}/{name}/text")
def download(visitor: CurrentVisitor, kind: Kind, name: _Name, version: str = "") -> Response:
    """The stored text as a file."""
    library, one = _item_of(visitor, kind, name, version)
    if not one.has_text:
        raise not_found()
    suffix = "csv" if kind == "hierarchy" else "yaml"
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(f'{name}@{version}', safe='')}.{suffix}"}
    return Response(library.text(one), media_type="text/plain; charset=utf-8", headers=headers)


@router.post("/library/{kind}/{name}/end")
def end(visitor: CurrentOfficer, kind: Kind, name: _Name, form: PostedForm) -> Response:
    """End an enrolment in the officer's name."""
    site, (library, one) = visitor.site, _item_of(visitor, kind, name, form.text("version"))

    def work() -> Response:
        sent = SentKey(form.files.get("key", b""), form.text("passphrase"))
        _as_officer(visitor, lambda by: end_enrolment(site.workspace, one.item, by, sent, clock=site.clock))
        notice = f"The enrolment of {title_of(one.item)} has ended. What was decided by it stays as it is."
        return _done(visitor, "enrolment ended", kind, notice)

    return confirmed(visitor, form, work, lambda error: _item_page(visitor, (library, one), "", error))


def _done(visitor: Visitor, what: str, kind: Kind, notice: str) -> Response:
    visitor.session.notice = notice
    log.info(what, extra=fields(kind=kind, login=visitor.account.login))
    return see_other("/library")


def _as_officer(visitor: Visitor, act: Callable[[str], object]) -> None:
    with acting_as(visitor.actor):
        act(visitor.account.person or visitor.account.name)


def _item(visitor: Visitor, kind: Kind, upload: Upload, folder: Folder) -> Enrollable:
    """The item that a form describes. Raises BadInput if it is not valid."""
    form, place = upload.form, visitor.site.workspace
    if kind == "sample":
        return _sample(form)
    files = upload.keep("file", folder, set())
    if not files:
        raise BadInput("no file was chosen", expected="a file", got="none", fix="choose one")
    if kind == "population":
        source, count = form.text("source").strip(), form.text("count").strip()
        try:
            table = Population(path=files[0].name, source=source, count=count or "count")
        except ValidationError:
            raise BadInput("the population is not valid", expected="a source in one line", got="another text") from None
        with files[0].open("rb") as stream:
            return population_item(place, stream, files[0], table)
    if files[0].stat().st_size > LARGEST_TEXT:
        raise BadInput("the file is too large", expected=f"at most {LARGEST_TEXT:,} bytes", got="more")
    if kind == "policy":
        try:
            return policy_from(files[0])
        except ReleasegateError as error:
            raise BadInput(error.what, expected=error.expected, got=error.got) from None
    text = LibraryText(kind, form.text("id").strip(), form.text("version").strip(), files[0].read_bytes())
    item_of(text)  # refuses id and version before the content
    return checked_text(place, text)


def _sample(form: SubmittedForm) -> Enrollable:
    """A population without a table; exactly one of size, fraction and everybody is stated."""
    return stated_sample(
        {
            "source": form.text("source").strip(),
            "size": number_of(form.text("size")) or None,
            "sampling_fraction": form.text("fraction").strip() or None,
            "self": form.text("everybody") == "yes",
        }
    )


def _key(upload: Upload) -> bytes:
    sent = upload.sent.get("key")
    return sent.file.read(_LARGEST_KEY) if isinstance(sent, UploadFile) else b""


def _form(
    visitor: Visitor, kind: Kind, sent: SubmittedForm | None = None, error: ReleasegateError | None = None
) -> Response:
    names = ("id", "version", "source", "count", "size", "fraction", "everybody")
    return visitor.form(
        "library_enrol.html",
        error,
        kind=kind,
        title=KINDS[kind],
        given={name: sent.text(name) if sent else "" for name in names},
        holder=_holder(visitor),
        once=visitor.session.issue(),
    )


def _holder(visitor: Visitor) -> dict[str, RegisteredKey | None]:
    """The visitor's key, as forms ask for it."""
    with open_ledger(visitor.site.workspace) as ledger:
        return {"key": key_in_force(ledger, visitor.account.name)}


def _item_of(visitor: Visitor, kind: str, name: str, version: str) -> tuple[Library, LibraryItem]:
    library = Library.of(visitor.site.workspace)
    one = library.find(kind, name, version)
    if one is None:
        raise not_found()
    return library, one


def _item_page(
    visitor: Visitor, found: tuple[Library, LibraryItem], beside: str, error: ReleasegateError | None = None
) -> Response:
    library, one = found
    versions = library.versions(one.kind, one.name)
    other = next((each for each in versions if beside and each.version == beside and each is not one), None)
    lines = library.text(one).splitlines() if one.has_text else []
    seen = {(release.release_id, release.recipient): release for release in visitor.seen()}
    used = [seen[place] for place in one.used if place in seen]
    return visitor.form(
        "library_item.html",
        error,
        one=one,
        title=title_of(one.item),
        noun=KINDS[one.kind],
        siblings=versions,
        other=other,
        differences=None if other is None else compared(library.text(other), library.text(one)),
        lines=lines[:_SHOWN],
        left_out=max(0, len(lines) - _SHOWN),
        used=used[:_USES],
        further=len(used[_USES:]),
        holder=_holder(visitor),
        once=visitor.session.issue(),
    )
