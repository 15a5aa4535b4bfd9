"""Pages for the levels of a column: sizes of their groups, and fields that change them, with a preview."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import Response

from flows.studio.columns import ShownColumn
from flows.studio.grouping import Grouping, grouped, grouping, source_changes
from flows.studio.quick import LevelGroups, changed
from flows.web.authentication import SubmittedForm
from flows.web.site import not_found
from flows.web.studio_project import CurrentProject, ShownProject, StudioForm, problem_of
from tasks.core.errors import BadInput, ReleasegateError
from tasks.microdata.hierarchy import Hierarchy
from tasks.request.document import Location
from tasks.request.load import LoadedRequest
from tasks.request.model import DatePeriod

router = APIRouter()


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
    levels, values, unseen = list[LevelGroups](), None, error
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
