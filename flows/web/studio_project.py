"""A request that its writer sees and changes in pages: who that is, its files and columns, and forms of its pages."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from fastapi.responses import HTMLResponse, Response

from flows.people.account import Duty
from flows.studio.columns import FileColumn, ShownColumn, shown_columns
from flows.studio.project import Project, ReadRequest
from flows.studio.studio import Studio
from flows.web.authentication import CurrentVisitor, SubmittedForm, bounded_form, own_form
from flows.web.http import not_allowed, not_found, see_other
from flows.web.site import Visitor
from tasks.audit.cells import LIMIT
from tasks.core.errors import ReleasegateError
from tasks.request.document import MAXIMUM_BYTES
from tasks.request.model import Role

_LARGEST_FORM = 3 * MAXIMUM_BYTES
_MOST_FIELDS = 2000


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

    @property
    def unreviewed(self) -> tuple[str, ...]:
        """Columns that will not leave because nobody has given them a role."""
        found = self.read.trial
        return () if found is None else found.request.with_role(Role.UNREVIEWED)

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
        return self.visitor.form(
            f"studio/{template}",
            error,
            address=self.address,
            tab=tab,
            read=self.read,
            title=str(self.read.value(("title",)) or "Draft"),
            blanks=sum(1 for one in self.read.problems if one.what in ("no value", "a missing key")),
            unreviewed=len(self.unreviewed),
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
