"""Pages of a column: its terms, or its levels with the sizes of their groups, and fields that change them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import Response

from flows.studio.column_terms import column_changes, column_terms
from flows.studio.columns import ShownColumn, labels_of
from flows.studio.grouping import Grouping, grouped, grouping, source_changes
from flows.studio.masking import masking_of
from flows.studio.quick import LevelGroups, changed
from flows.web.authentication import SubmittedForm
from flows.web.http import not_found, problem_of
from flows.web.studio_project import CurrentProject, ShownProject, StudioForm
from tasks.core.errors import BadInput, ReleasegateError
from tasks.microdata.hierarchy import Hierarchy
from tasks.request.document import Location
from tasks.request.load import LoadedRequest
from tasks.request.model import DatePeriod

router = APIRouter()


@router.get("/requests/{name}/columns/{position}")
def show_column(shown: CurrentProject, position: Annotated[int, Path(ge=1, le=100_000)]) -> Response:
    """Levels of a quasi-identifier with the sizes of their groups, or terms of another column, with fields for them."""
    return _column(shown, position, None)


@router.post("/requests/{name}/columns/{position}")
def change_column(
    shown: CurrentProject, position: Annotated[int, Path(ge=1, le=100_000)], form: StudioForm
) -> Response:
    """Change the levels of a quasi-identifier, or preview them; change the terms of another column."""
    column = _shown_column(shown, position)
    place: Location = (*column.place, "hierarchy")
    if form.text("kind") != "column" and not column.is_quasi:
        raise not_found()
    if form.text("do") == "preview":
        return _column(shown, position, None, form)

    def work() -> str:
        if form.text("kind") == "column":
            changes = column_changes(shown.read, column, form.fields)
            if not changes:
                return "No term was changed."
            shown.project.change(changes)
            return f"The terms of {column.name} are saved."
        if form.text("kind") == "groups":
            name = f"hierarchy-{position}.csv"
            table = _grouped(shown, column, _grouping(shown, column, form))
            shown.project.change({place: {"file": name}}, {name: table})
        else:
            shown.project.change({place: source_changes(_source(shown, column), form.fields)})
        return f"The levels of {column.name} are saved."

    return shown.changed(work, f"columns/{position}", lambda error: _column(shown, position, error, form))


def _shown_column(shown: ShownProject, position: int) -> ShownColumn:
    columns, _ = shown.columns()
    column = next((one for one in columns if one.position == position and (one.is_quasi or one.has_terms)), None)
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


def _grouping(shown: ShownProject, column: ShownColumn, form: SubmittedForm | None) -> Grouping:
    """The values of a column with their groups; with a form, as they were sent."""
    files, unreadable = shown.files()
    if column.name not in files:
        raise unreadable or _mistaken()
    tree, attribute = shown.studio.quick.tree(_trial(shown, {}), column.name), shown.read.value(column.place)
    found = grouping(tree, files[column.name], shown.least, labels_of(attribute))
    if form is None:
        return found
    values = tuple(replace(one, group=form.text(f"group.{one.number}")) for one in found.values)
    return replace(found, values=values, rare_group=form.text("rare") or found.rare_group)


def _grouped(shown: ShownProject, column: ShownColumn, found: Grouping) -> Hierarchy:
    """The hierarchy that groups of values make."""
    groups = {one.number: one.group for one in found.values}
    tree = shown.studio.quick.tree(_trial(shown, {}), column.name)
    return grouped(column.name, tree, found, groups, found.rare_group)


@dataclass(frozen=True)
class _Levels:
    """Levels of a quasi-identifier as its page shows them."""

    source: Mapping[str, Any]
    sizes: list[LevelGroups]
    values: Grouping | None
    """Values with their groups, where the levels are written out; None for others."""
    unseen: ReleasegateError | None
    """Why groups cannot be counted."""


def _column(
    shown: ShownProject, position: int, error: ReleasegateError | None, form: SubmittedForm | None = None
) -> Response:
    """The page of a column; with a form, the levels that it asks for, and its fields as they were sent."""
    column = _shown_column(shown, position)
    terms, masking = column_terms(shown.read, column), masking_of(shown.read, column.name)
    at_terms = {id(one) for term in terms for one in term.problems}
    levels = _levels(shown, column, form) if column.is_quasi else None
    unseen = None if levels is None or error is not None else levels.unseen
    return shown.page(
        "column.html",
        "columns",
        error=error,
        column=column,
        levels=levels,
        unseen=None if unseen is None else problem_of(unseen),
        terms=terms,
        together=masking.others if masking else (),
        problems=[one for one in column.problems if id(one) not in at_terms],
        is_preview=form is not None,
        periods=[period.value for period in DatePeriod],
        fewest=shown.fewest,
        least=shown.least,
    )


def _levels(shown: ShownProject, column: ShownColumn, form: SubmittedForm | None) -> _Levels:
    """Levels with group sizes; with a form, those that it asks for."""
    source, quick = _source(shown, column), shown.studio.quick
    sizes, values, unseen, other = list[LevelGroups](), None, None, None
    changes: dict[Location, Any] = {}
    try:
        if form is not None and form.text("kind") == "groups":
            values = _grouping(shown, column, form)
            other = _grouped(shown, column, values)
        elif form is not None:
            source = source_changes(source, form.fields)
            changes[*column.place, "hierarchy"] = source
        sizes = quick.levels(_trial(shown, changes), column.name, shown.fewest, other)
        begins_above = shown.read.value((*column.place, "level"))  # its groups are not put together on a page
        if values is None and ("file" in source or "groups" in source) and not begins_above:
            values = _grouping(shown, column, None)
    except ReleasegateError as found:
        unseen = found
    return _Levels(source, sizes, values, unseen)
