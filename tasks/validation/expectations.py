"""Great Expectations, kept to one question: does this table meet these expectations, yes or no.

It is asked for booleans only, its other result forms hold raw values. Nothing it says in words is passed on: its
messages, logs and tracebacks may quote a value. Nothing is sent or written: the context lives in memory, this version
has no usage statistics, and its progress bars are off.
"""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd

from tasks.core.errors import StageFailed
from tasks.validation.suite import Check

_LIBRARY = "great_expectations"


class Evaluator:
    """Great Expectations with one context for many tables, for setting one up costs more than a small table does."""

    def __init__(self) -> None:
        self._library: Any = None
        self._batches: Any = None

    def evaluate(self, table: pd.DataFrame, checks: Sequence[Check]) -> dict[str, bool]:
        """Ask which checks a table passes.

        Parameters
        ----------
        table : DataFrame
            A prepared table, see ``tasks.validation.tables``.
        checks : sequence of Check
            Checks of this table.

        Returns
        -------
        dict of str to bool
            For each check's id, whether it passed.

        Raises
        ------
        StageFailed
            If an expectation could not be evaluated, or results are missing; this is never a pass.

        Notes
        -----
        Results come back in another order than they were asked for and are matched by our own id. An expectation whose
        computation fails is reported by the library as not met, with the exception beside it; that is an error here.
        """
        failure = ""
        results: list[Any] = []
        with _silent():
            try:
                results = self._run(table, checks)
            except Exception as error:
                failure = type(error).__name__
        if failure:
            # Raised out here so that the library's exception, which may quote a value, is not attached as context.
            raise _not_evaluated(checks, failure)
        return _verdicts(results, checks)

    def _run(self, table: pd.DataFrame, checks: Sequence[Check]) -> list[Any]:
        if self._batches is None:
            self._library = _import_library()
            self._batches = _batches(self._library)
        suite = self._library.ExpectationSuite(
            "release",
            expectations=[
                getattr(self._library.expectations, check.type)(
                    **check.arguments,
                    **({"column": check.field} if check.field else {}),
                    **({"mostly": check.mostly} if check.mostly < 1 else {}),
                    meta={"check": check.id},
                )
                for check in checks
            ],
        )
        batch = self._batches.get_batch({"dataframe": table})
        return list(batch.validate(suite, result_format="BOOLEAN_ONLY").results)


def _batches(gx: Any) -> Any:
    """Context for tables: in memory; keeps, shows and sends nothing."""
    from great_expectations.data_context.types.base import (  # noqa: PLC0415
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )

    context = gx.get_context(
        mode="ephemeral",
        project_config=DataContextConfig(
            store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
            progress_bars=ProgressBarsConfig(globally=False, metric_calculations=False),
            analytics_enabled=False,
        ),
    )
    asset = context.data_sources.add_pandas("releasegate").add_dataframe_asset("table")
    return asset.add_batch_definition_whole_dataframe("whole")


def _verdicts(results: Sequence[Any], checks: Sequence[Check]) -> dict[str, bool]:
    verdicts: dict[str, bool] = {}
    for result in results:
        if _raised(result.exception_info):
            raise _not_evaluated(checks, "an expectation whose computation failed")
        verdicts[result.expectation_config.meta["check"]] = result.success is True
    if set(verdicts) != {check.id for check in checks} or not len(verdicts) == len(results) == len(checks):
        raise _not_evaluated(checks, f"{len(verdicts)} results for {len(checks)} checks")
    return verdicts


def _raised(exception_info: Any) -> bool:
    """Whether anything went wrong; the library reports one exception, or one for each metric."""
    if not isinstance(exception_info, dict) or not exception_info:
        return True
    if "raised_exception" in exception_info:
        return exception_info["raised_exception"] is not False
    return any(_raised(nested) for nested in exception_info.values())


def _not_evaluated(checks: Sequence[Check], got: str) -> StageFailed:
    columns = sorted({check.column for check in checks if check.column})
    return StageFailed(
        "validation could not evaluate its checks",
        where="columns " + ", ".join(columns) if columns else "the whole table",
        expected="a yes or no for every check",
        got=got,
        fix="nothing is released; check that the installed Great Expectations is of the version in requirements.lock",
    )


def _import_library() -> Any:
    """Import the library, which takes seconds, and undo what importing it does to warnings."""
    show = warnings.showwarning
    import great_expectations as gx  # noqa: PLC0415

    if warnings.showwarning is not show:
        logging.captureWarnings(False)
    return gx


@contextmanager
def _silent() -> Iterator[None]:
    """Keep the library's log records, which may quote values, from every handler but its own."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith(_LIBRARY + ".")]
    children = [logging.getLogger(name) for name in names]
    # A child without a level of its own, which is nearly every one, takes its parent's.
    loggers = [logging.getLogger(_LIBRARY), *(child for child in children if child.level or not child.propagate)]
    before = [(logger, logger.propagate, logger.level) for logger in loggers]
    try:
        for logger in loggers:
            logger.propagate = False
            logger.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for logger, propagate, level in before:
            logger.propagate = propagate
            logger.setLevel(level)
