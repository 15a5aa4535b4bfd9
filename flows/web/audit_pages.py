"""Download of the audit of a period as PDF, JSON or CSV."""

import io
import threading
import zipfile
from datetime import timedelta
from http import HTTPStatus

from fastapi import APIRouter, Request
from fastapi.responses import Response

from flows.audit import JSON, as_data, as_pdf, audit_of
from flows.web.authentication import CurrentSite, CurrentVisitor, PostedForm
from flows.web.site import Site, Visitor, log, not_allowed, sentence
from tasks.audit.report import AuditReport
from tasks.core.errors import BadInput, WorkspaceError

router = APIRouter()

_TYPES = {"pdf": "application/pdf", "json": "application/json", "csv": "application/zip"}
_ONE_AT_A_TIME = threading.Lock()
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)


@router.get("/audit")
def show(request: Request, site: CurrentSite, visitor: CurrentVisitor) -> Response:
    """The form, with the previous month as period."""
    _check(visitor)
    last = site.clock().date().replace(day=1) - timedelta(days=1)
    return _form(request, site, visitor, {"from": last.replace(day=1).isoformat(), "to": last.isoformat()})


@router.post("/audit")
def download(request: Request, site: CurrentSite, visitor: CurrentVisitor, form: PostedForm) -> Response:
    """The audit of a period as a file."""
    _check(visitor)
    given = {name: form.text(name).strip()[:20] for name in ("from", "to", "format")}
    try:
        if given["format"] not in _TYPES:
            raise BadInput("there is no such format", expected="PDF, JSON or CSV", got="another format")
        site.limit(site.limits.audits, visitor.account.login)
        with _ONE_AT_A_TIME:
            report = audit_of(site.workspace, given["from"], given["to"], clock=site.clock)
            content = _rendered(site, report, given["format"])
    except (BadInput, WorkspaceError) as error:
        return _form(request, site, visitor, given, error)
    log.info("audit by %s", visitor.account.login)
    ending = "zip" if given["format"] == "csv" else given["format"]
    name = f"audit-{report.first_day}-{report.last_day}.{ending}"
    return Response(
        content,
        media_type=_TYPES[given["format"]],
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _check(visitor: Visitor) -> None:
    if not visitor.audits:
        raise not_allowed("Audits are shown to officers and regulators.")


def _rendered(site: Site, report: AuditReport, kind: str) -> bytes:
    if kind == "pdf":
        with site.figures.drawing:
            return as_pdf(report)
    files = as_data(report)
    return files[JSON] if kind == "json" else _zipped({name: files[name] for name in files if name != JSON})


def _zipped(files: dict[str, bytes]) -> bytes:
    """A ZIP file of several files; the same bytes each time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _ZIP_TIME), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _form(
    request: Request, site: Site, visitor: Visitor, given: dict[str, str], error: BadInput | None = None
) -> Response:
    return site.page(
        request,
        "audit.html",
        visitor,
        status=HTTPStatus.OK if error is None else HTTPStatus.UNPROCESSABLE_ENTITY,
        given=given | {"format": given.get("format") or "pdf"},
        today=site.clock().date().isoformat(),
        problem="" if error is None else sentence(f"{error.what}; expected: {error.expected}"),
    )
