"""The page that shows what validation found: counts by check and column, failures first, never a value.

The page is one file: no script, no font, image or style from elsewhere, no clock.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tasks.decision.record import CheckFact, ObservedCount, ValidationFact

_TEMPLATES = Path(__file__).resolve().parent.parent / "templates"


@dataclass(frozen=True)
class ColumnGroup:
    """Checks and counts of one column."""

    column: str
    """Empty for checks of the whole table."""
    checks: tuple[CheckFact, ...]
    observed: tuple[ObservedCount, ...]

    @property
    def failures(self) -> int:
        """Number of checks that failed."""
        return sum(not check.passed for check in self.checks)


def render_validation_page(validation: ValidationFact, title: str, small_cell: int = 11) -> str:
    """Render the results of validation as a page of HTML.

    Parameters
    ----------
    validation : ValidationFact
        The recorded results.
    title : str
        Title of the data set.
    small_cell : int
        Counts below it and above 0 are shown as “1–” and the number before it, and so is what is left of a total.

    Returns
    -------
    str
        A whole HTML document; the same results give the same text.
    """
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["people"] = lambda count: shown_count(count, small_cell)
    environment.filters["part"] = lambda count, total: shown_part(count, total, small_cell)
    return environment.get_template("validation.html").render(
        title=title,
        validation=validation,
        groups=group_by_column(validation),
        failures=sum(not check.passed for check in validation.checks),
        small_cell=small_cell,
    )


def shown_count(count: int, small_cell: int) -> str:
    """A count of people as a report may show it.

    >>> [shown_count(count, 11) for count in (0, 1, 10, 11, 32561)]
    ['0', '1–10', '1–10', '11', '32,561']
    """
    if 0 < count < small_cell:
        return f"1–{small_cell - 1}"
    return f"{count:,}"


def shown_part(count: int, total: int, small_cell: int) -> str:
    """A count of people out of a total that is shown beside it, so that the rest follows from it.

    >>> [shown_part(count, 500, 11) for count in (0, 3, 40, 495, 500)]
    ['0', '1–10', '40', 'all but 1–10', '500']
    """
    if 0 < total - count < small_cell <= count:
        return f"all but {shown_count(total - count, small_cell)}"
    return shown_count(count, small_cell)


def group_by_column(validation: ValidationFact) -> list[ColumnGroup]:
    """Group results by column: those with failures first, else in recorded order, and so within each."""
    groups = [
        ColumnGroup(
            column,
            tuple(sorted((check for check in validation.checks if check.column == column), key=_passed)),
            tuple(seen for seen in validation.observed if seen.column == column),
        )
        for column in _columns(validation)
    ]
    return sorted(groups, key=lambda group: group.failures == 0)


def _passed(check: CheckFact) -> bool:
    return check.passed


def _columns(validation: ValidationFact) -> Iterable[str]:
    columns = [check.column for check in validation.checks] + [seen.column for seen in validation.observed]
    return dict.fromkeys(columns)
