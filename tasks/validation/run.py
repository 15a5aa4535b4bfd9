"""Validation of a file's content against its request: the suite is run and its results reduced to what may be kept.

Counts go into the decision record. Positions are for the data steward who mends the file; they are returned apart, and
belong neither in the record nor in a report.

Great Expectations is asked for booleans only, since its other results hold raw values. Its messages, logs and
tracebacks, which may quote a value, are not passed on. It sends and writes nothing.
"""

import logging
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.core.canonical import digest
from tasks.core.errors import ReleasegateError, StageFailed
from tasks.core.guard import place_of
from tasks.decision.record import CheckFact, ObservedCount, ValidationFact
from tasks.request.model import ReleaseRequest
from tasks.validation.header import check_names
from tasks.validation.labels import check_texts
from tasks.validation.repeated_people import repeated_people
from tasks.validation.suite import PRESENCE, Check, CheckedTable, Observation, derive
from tasks.validation.tables import ColumnTables, FileTables
from tasks.validation.values import encode, matches

_NOBODY = np.zeros(0, dtype=np.bool_)
_ONE_AT_A_TIME = threading.Lock()
"""The library's context is one for all threads of a process."""
MOST_POSITIONS = 100
"""Positions kept for each check."""

REPEATED = "records that share a value and the quasi-identifiers with an earlier one, as rows of a person do"
Positions = tuple[int, ...]
"""The first of the records that fail a check, counted from 0."""


@dataclass(frozen=True)
class ValidationOutcome:
    """Results of validation: a fact for the record, and places for the steward alone."""

    fact: ValidationFact
    positions: dict[str, Positions]
    """By the id of each check that failed."""


@dataclass(frozen=True)
class Judged:
    """Results of some columns; of no column for the checks of the whole table."""

    columns: tuple[str, ...] = ()
    checks: dict[str, tuple[CheckFact, Positions]] = field(default_factory=dict)
    """By the id of each check."""
    counts: dict[Observation, int] = field(default_factory=dict)

    def __or__(self, other: "Judged") -> "Judged":
        """These results with those of other columns."""
        return Judged(self.columns + other.columns, self.checks | other.checks, self.counts | other.counts)


NOTHING_JUDGED = Judged()


def validate(
    frame: pd.DataFrame,
    request: ReleaseRequest,
    covered: npt.NDArray[np.bool_],
    *,
    confirmed: bool = True,
    judged: Judged = NOTHING_JUDGED,
) -> ValidationOutcome:
    """Check the content of the microdata against its request.

    `frame` is the raw microdata, every column of string type, missing cells as NA; its structure was checked before.
    `covered`, of shape (n_records,), is True where the record's quasi-identifiers occur in the population. `confirmed`
    says whether Great Expectations evaluates the checks as well, as a release demands; without it the outcome is the
    same, in a fraction of the time: the library takes seconds to import. `judged` are columns whose results are known,
    as workers find them.

    Great Expectations says whether a check passed; where it did not pass, tolerates failures or is unconfirmed, the
    failures are found here. Columns are taken one at a time, so that memory grows by one column's distinct values.
    Raises StageFailed if a check could not be evaluated, or its verdict and its count contradict each other; DataError
    if names of columns are data, or texts of the request look like identifiers.
    """
    try:
        check_texts(request)
        check_names(list(request.attributes), lambda name: encode(frame[name]), "attributes of the request")
        rest = [column for column in ("", *request.attributes) if column not in judged.columns]
        return _outcome(frame, request, judged | judge(frame, request, rest, covered, confirmed=confirmed))
    except ReleasegateError:
        raise
    except Exception as error:
        failure = type(error).__name__
        place = place_of(error)
    # Raised out here so that a library's exception, which may quote a value, is not attached as context.
    raise StageFailed(
        "validation could not finish",
        where=place,
        expected="every check evaluated",
        got=failure,
        fix="nothing is released; try again with more memory, or report this",
    )


def judge(
    frame: pd.DataFrame,
    request: ReleaseRequest,
    columns: Sequence[str],
    covered: npt.NDArray[np.bool_] = _NOBODY,
    *,
    confirmed: bool = True,
) -> Judged:
    """Results of some columns, each beside all others of the file; parameters and errors as of ``validate``.

    Only the checks of the whole table ask who is covered.
    """
    plan, results, counts = derive(request), dict[str, tuple[CheckFact, Positions]](), dict[Observation, int]()
    file = FileTables(frame, request, covered)
    for column in columns:
        tables = ColumnTables(file.of_table(column), column)
        for kind in CheckedTable:
            checks = [check for check in plan.checks if (check.column, check.table) == (column, kind)]
            if checks:
                table = tables.build(kind, [check.field for check in checks if check.field])
                verdicts = evaluate(table, checks) if confirmed else {}
                results |= {check.id: _result(tables, table, check, verdicts.get(check.id)) for check in checks}
        counts |= {seen: _count(tables, seen) for seen in plan.observations if seen.column == column}
    return Judged(tuple(columns), results, counts)


def _outcome(frame: pd.DataFrame, request: ReleaseRequest, judged: Judged) -> ValidationOutcome:
    plan = derive(request)
    checked = tuple(judged.checks[check.id][0] for check in plan.checks)
    observed = tuple(
        ObservedCount(
            id=f"{seen.kind}/{seen.column}",
            description=seen.description,
            column=seen.column,
            records=judged.counts[seen],
        )
        for seen in plan.observations
    )
    facts = {"checks": checked, "skipped": plan.skipped, "observed": observed}
    observed += tuple(
        ObservedCount(
            id=f"repeated person/{one.columns[0]}", description=REPEATED, column=one.columns[0], records=one.again
        )
        for one in repeated_people(frame, request)
    )
    evidence = digest({name: [fact.model_dump(mode="json") for fact in found] for name, found in facts.items()})
    fact = ValidationFact(
        passed=all(check.passed for check in checked),
        checks=checked,
        skipped=plan.skipped,
        observed=observed,
        evidence_sha256=evidence,
    )
    return ValidationOutcome(fact, {check.id: rows for check, rows in judged.checks.values() if rows})


def _result(
    tables: ColumnTables, table: pd.DataFrame, check: Check, verdict: bool | None
) -> tuple[CheckFact, Positions]:
    """The result of a check, and that the library's verdict, where it was asked, agrees with the count of failures."""
    whole, passed, failed = check.table is CheckedTable.RELEASE, bool(verdict), np.zeros(0, dtype=np.bool_)
    if not verdict or check.counts_tolerated:
        failed = failing(check, table)
        if check.table is CheckedTable.VALUES:
            failed = tables.encoded.on_records(failed)
        passed = _enough(check, table, int(failed.sum()))
        if verdict not in (None, passed):
            raise StageFailed(
                "the verdict of a validation check and the count of its failures contradict each other",
                where=check.id,
                expected=f"a count of failures that fits a check that {'passed' if verdict else 'failed'}",
                got="a different count",
                fix="nothing is released; this is a fault of the program, please report it",
            )
    fact = CheckFact(
        id=check.id,
        expectation=check.expectation,
        column=check.column,
        passed=passed,
        checked=len(table.columns) if whole else tables.file.people if check.of_people else len(tables.file.frame),
        failed=int(failed.sum()),
    )
    return fact, () if whole or passed else tuple(np.flatnonzero(failed)[:MOST_POSITIONS].tolist())


def _enough(check: Check, table: pd.DataFrame, failed: int) -> bool:
    """Whether a count of failures allows a pass, by the library's own rule: the share among the cells considered."""
    if check.mostly == 1:
        return failed == 0
    considered = len(table) if check.type == PRESENCE else int(table[check.field].notna().sum())
    return considered == 0 or (considered - failed) / considered >= check.mostly


def _count(tables: ColumnTables, seen: Observation) -> int:
    cells = tables.build(CheckedTable.VALUES, [seen.field])[seen.field]
    counted = cells.notna() if seen.least is None else cells >= seen.least
    return int(tables.encoded.on_records(counted.to_numpy(dtype=np.bool_)).sum())


def failing(check: Check, table: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Mark the rows of a prepared table, or for a check of its columns the columns, that fail a check.

    A missing cell fails nothing but an expectation of presence.
    """
    if check.table is CheckedTable.RELEASE:
        return ~table.columns.isin(check.arguments["column_set"])
    missing = table[check.field].isna().to_numpy()
    if check.type == PRESENCE:
        return missing
    return np.asarray(_UNMET[check.type](table[check.field], **check.arguments), dtype=np.bool_) & ~missing


def _outside(
    cells: pd.Series, min_value: float | None = None, max_value: float | None = None, *, strict_max: bool = False
) -> pd.Series:
    low, high = -np.inf if min_value is None else min_value, np.inf if max_value is None else max_value
    return (cells < low) | ((cells >= high) if strict_max else (cells > high))


_UNMET: dict[str, Callable[..., Any]] = {
    "ExpectColumnValuesToMatchRegex": lambda cells, regex: ~matches(cells, regex),
    "ExpectColumnValuesToNotMatchRegex": matches,
    "ExpectColumnValuesToBeInSet": lambda cells, value_set: ~cells.isin(value_set),
    "ExpectColumnValuesToBeBetween": _outside,
    "ExpectColumnValueLengthsToBeBetween": lambda cells, max_value: (
        cells.str.len().to_numpy(dtype=np.float64, na_value=np.nan) > max_value
    ),
    "ExpectColumnValuesToBeUnique": lambda cells: cells.duplicated(keep=False),
}
"""Cells of a column that do not meet an expectation, by its type."""


def evaluate(table: pd.DataFrame, checks: Sequence[Check]) -> dict[str, bool]:
    """Ask Great Expectations which checks of a prepared table it passes, by the id of each.

    Results come back in another order than they were asked for and are matched by our own id. An expectation whose
    computation fails is reported by the library as not met, with the exception beside it; that is an error here.
    Raises StageFailed if an expectation could not be evaluated, or results are missing; this is never a pass.
    """
    failure, verdicts = "", dict[str, bool]()
    try:
        with _ONE_AT_A_TIME:
            results = _results(table, checks)
        verdicts = {result.expectation_config.meta["check"]: result.success is True for result in results}
        if any(_raised(result.exception_info) for result in results):
            failure = "an expectation whose computation failed"
        elif not (verdicts.keys() == {check.id for check in checks} and len(verdicts) == len(results) == len(checks)):
            failure = f"{len(verdicts)} results for {len(checks)} checks"
    except Exception as error:
        failure = type(error).__name__
    if failure:
        # Raised out here so that the library's exception, which may quote a value, is not attached as context.
        columns = sorted({check.column for check in checks if check.column})
        raise StageFailed(
            "validation could not evaluate its checks",
            where="columns " + ", ".join(columns) if columns else "the whole table",
            expected="a yes or no for every check",
            got=failure,
            fix="nothing is released; check that Great Expectations is of the version in requirements.lock",
        )
    return verdicts


def _results(table: pd.DataFrame, checks: Sequence[Check]) -> list[Any]:
    gx, batches = _library()
    suite = gx.ExpectationSuite(
        "release",
        expectations=[
            getattr(gx.expectations, check.type)(
                **check.arguments,
                **({"column": check.field} if check.field else {}),
                **({"mostly": check.mostly} if check.mostly < 1 else {}),
                meta={"check": check.id},
            )
            for check in checks
        ],
    )
    batch = batches.get_batch({"dataframe": table})
    with _written_once(gx.expectations.expectation.Expectation):
        return list(batch.validate(suite, result_format="BOOLEAN_ONLY").results)


@contextmanager
def _written_once(expectation: Any) -> Iterator[None]:
    """Let the library write each expectation out once: it does so for each argument that it looks up."""
    written, made = expectation.configuration, dict[int, tuple[Any, Any]]()

    def configuration(one: Any) -> Any:
        if id(one) not in made:
            made[id(one)] = written.fget(one), one  # held, so that no other has its id
        return made[id(one)][0]

    expectation.configuration = property(configuration)
    try:
        yield
    finally:
        expectation.configuration = written


@cache
def _library() -> tuple[Any, Any]:
    """The library, whose import takes seconds, and its one context for tables, which costs more than a small table.

    The context is in memory; it keeps, shows and sends nothing. No log record of the library, which may quote a value,
    comes to any handler but its own. What importing it does to warnings is undone.
    """
    logger, show = logging.getLogger("great_expectations"), warnings.showwarning
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    logger.setLevel(logging.CRITICAL + 1)
    import great_expectations as gx  # noqa: PLC0415
    from great_expectations.data_context.types.base import (  # noqa: PLC0415
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )

    if warnings.showwarning is not show:
        logging.captureWarnings(False)
    context = gx.get_context(
        mode="ephemeral",
        project_config=DataContextConfig(
            store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
            progress_bars=ProgressBarsConfig(globally=False, metric_calculations=False),
            analytics_enabled=False,
        ),
    )
    asset = context.data_sources.add_pandas("releasegate").add_dataframe_asset("table")
    return gx, asset.add_batch_definition_whole_dataframe("whole")


def _raised(exception_info: Any) -> bool:
    """Whether anything went wrong; the library reports one exception, or one for each metric."""
    if not isinstance(exception_info, dict) or not exception_info:
        return True
    if "raised_exception" in exception_info:
        return exception_info["raised_exception"] is not False
    return any(_raised(nested) for nested in exception_info.values())
