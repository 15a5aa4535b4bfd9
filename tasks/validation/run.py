"""Validation of a file's content against its request: the suite is run and its results reduced to counts."""

import traceback
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.core.errors import ReleasegateError, StageFailed
from tasks.request.model import ReleaseRequest
from tasks.validation.expectations import Evaluator
from tasks.validation.locate import failing
from tasks.validation.projection import CheckResult, ValidationOutcome, first_positions, project
from tasks.validation.suite import Check, Observation, Plan, Table, derive
from tasks.validation.tables import ColumnTables


def validate(
    frame: pd.DataFrame, request: ReleaseRequest, covered: npt.NDArray[np.bool_], *, confirmed: bool = True
) -> ValidationOutcome:
    """Check the content of the microdata against its request.

    Parameters
    ----------
    frame : DataFrame of shape (n_records, n_columns)
        The raw microdata, every column of string type, missing cells as NA; its structure was checked before.
    request : ReleaseRequest
        What the columns are declared to be, and what the policy demands.
    covered : bool array of shape (n_records,)
        True where the record's quasi-identifiers occur in the population.
    confirmed : bool
        Whether Great Expectations evaluates the checks as well, as a release demands. Without it the outcome is the
        same, in a fraction of the time: the library takes seconds to import.

    Returns
    -------
    ValidationOutcome
        Counts for the record, positions for the steward. Where its fact has not passed, the release is blocked.

    Raises
    ------
    RequestError
        If the request asks for a check that its own declarations make impossible.
    StageFailed
        If a check could not be evaluated, or its verdict and its count contradict each other.

    Notes
    -----
    Columns are taken one at a time, so that memory grows by one column's distinct values. Whether a check passed is
    Great Expectations' word; which records fail it is found by ``tasks.validation.locate`` where it did not pass or
    tolerates a share of failures. Unconfirmed, ``tasks.validation.locate`` alone decides.
    """
    plan = derive(request)
    _check_input(frame, request, covered)
    try:
        return _validate(frame, request, covered, plan, Evaluator() if confirmed else None)
    except ReleasegateError:
        raise
    except Exception as error:
        failure = type(error).__name__
        place = traceback.extract_tb(error.__traceback__)[-1]
    # Raised out here so that a library's exception, which may quote a value, is not attached as context.
    raise StageFailed(
        "validation could not finish",
        where=f"{place.name}, line {place.lineno}",
        expected="every check evaluated",
        got=failure,
        fix="nothing is released; try again with more memory, or report this",
    )


def _validate(
    frame: pd.DataFrame,
    request: ReleaseRequest,
    covered: npt.NDArray[np.bool_],
    plan: Plan,
    evaluator: Evaluator | None,
) -> ValidationOutcome:
    results: dict[str, CheckResult] = {}
    counts: dict[Observation, int] = {}
    for column in ("", *request.attributes):
        tables = ColumnTables(frame, request, covered, column)
        for table in Table:
            checks = [check for check in plan.checks if (check.column, check.table) == (column, table)]
            results |= {result.check.id: result for result in _run(evaluator, tables, table, checks)}
        counts |= {seen: _count(tables, seen) for seen in plan.observations if seen.column == column}
    return project(
        [results[check.id] for check in plan.checks], plan.skipped, [(seen, counts[seen]) for seen in plan.observations]
    )


def _run(evaluator: Evaluator | None, tables: ColumnTables, kind: Table, checks: Sequence[Check]) -> list[CheckResult]:
    if not checks:
        return []
    table = tables.build(kind, [check.field for check in checks if check.field])
    verdicts = None if evaluator is None else evaluator.evaluate(table, checks)
    return [_result(tables, table, check, None if verdicts is None else verdicts[check.id]) for check in checks]


def _result(tables: ColumnTables, table: pd.DataFrame, check: Check, verdict: bool | None) -> CheckResult:
    """The result of a check, and that the library's verdict, where it was asked, agrees with the count of failures."""
    whole = check.table is Table.RELEASE
    checked = len(table.columns) if whole else tables.records
    if verdict and not check.counts_tolerated:
        return CheckResult(check, passed=True, checked=checked, failed=0, positions=())
    failed = failing(check, table)
    if check.table is Table.VALUES:
        failed = tables.encoded.on_records(failed)
    count = int(failed.sum())
    passed = _enough(check, table, count)
    if verdict is not None and verdict != passed:
        raise _contradiction(check, verdict)
    return CheckResult(check, passed, checked, count, () if whole or passed else first_positions(failed))


def _enough(check: Check, table: pd.DataFrame, failed: int) -> bool:
    """Whether a count of failures allows a pass, by the library's own rule: the share among the cells considered."""
    if check.mostly == 1:
        return failed == 0
    considered = len(table)
    if check.type != "ExpectColumnValuesToNotBeNull":
        considered = int(table[check.field].notna().sum())
    return considered == 0 or (considered - failed) / considered >= check.mostly


def _count(tables: ColumnTables, seen: Observation) -> int:
    cells = tables.build(Table.VALUES, [seen.field])[seen.field]
    counted = cells.notna() if seen.least is None else cells >= seen.least
    return int(tables.encoded.on_records(counted.to_numpy(dtype=np.bool_)).sum())


def _check_input(frame: pd.DataFrame, request: ReleaseRequest, covered: npt.NDArray[np.bool_]) -> None:
    wrong = ""
    if set(frame.columns) != set(request.attributes) or len(frame.columns) != len(request.attributes):
        wrong = "columns that are not those of the request"
    elif len(frame) == 0:
        wrong = "no records"
    elif covered.shape != (len(frame),) or covered.dtype != np.bool_:
        wrong = f"population coverage of shape {covered.shape} and type {covered.dtype} for {len(frame)} records"
    elif not all(isinstance(dtype, pd.StringDtype) for dtype in frame.dtypes):
        wrong = "columns that are not text"
    if wrong:
        raise StageFailed(
            "validation was given something else than the microdata of this request",
            expected="a table of text with the request's columns, and coverage for each of its records",
            got=wrong,
            fix="nothing is released; this is a fault of the program, please report it",
        )


def _contradiction(check: Check, passed: bool) -> StageFailed:
    verdict = "passed" if passed else "failed"
    return StageFailed(
        "the verdict of a validation check and the count of its failures contradict each other",
        where=check.id,
        expected=f"a count of failures that fits a check that {verdict}",
        got="a different count",
        fix="nothing is released; this is a fault of the program, please report it",
    )
