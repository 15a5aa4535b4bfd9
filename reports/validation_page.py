"""The page that shows what validation found: one file, counts by check and column, failures first, never a value."""

from operator import attrgetter

from reports.model.smallcell import SmallCellRule
from reports.templating import render
from tasks.decision.record import CheckFact, ObservedCount, ValidationFact


def render_validation_page(validation: ValidationFact, title: str, small_cell: int = 11) -> str:
    """The results of validation as a whole HTML document; no count below ``small_cell`` is shown, nor its rest."""
    return render(
        SmallCellRule(small_cell),
        "validation.html",
        title=title,
        validation=validation,
        groups=by_column(validation),
        failures=sum(not check.passed for check in validation.checks),
        small_cell=small_cell,
    )


def by_column(validation: ValidationFact) -> list[tuple[str, list[CheckFact], list[ObservedCount]]]:
    """Checks and counts by column, those with failures first, else in recorded order, and so within each."""
    groups = []
    columns = [check.column for check in validation.checks] + [one.column for one in validation.observed]
    for column in dict.fromkeys(columns):
        checks = [check for check in validation.checks if check.column == column]
        observed = [one for one in validation.observed if one.column == column]
        groups.append((column, sorted(checks, key=attrgetter("passed")), observed))
    return sorted(groups, key=lambda group: all(check.passed for check in group[1]))
