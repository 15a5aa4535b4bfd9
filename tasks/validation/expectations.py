"""Great Expectations, kept to one question: does this table meet these expectations, yes or no.

It is asked for booleans only, its other result forms hold raw values. Nothing it says in words is passed on: its
messages, logs and tracebacks may quote a value. Nothing is sent or written: the context lives in memory, this version
has no usage statistics, and its progress bars are off.
"""

import logging
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import pandas as pd

from tasks.core.errors import StageFailed
from tasks.validation.suite import Check


def evaluate(table: pd.DataFrame, checks: Sequence[Check]) -> dict[str, bool]:
    """Ask Great Expectations which checks of a prepared table it passes, by the id of each.

    Raises
    ------
    StageFailed
        If an expectation could not be evaluated, or results are missing; this is never a pass.

    Notes
    -----
    Results come back in another order than they were asked for and are matched by our own id. An expectation whose
    computation fails is reported by the library as not met, with the exception beside it; that is an error here.
    """
    failure, verdicts = "", dict[str, bool]()
    try:
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
            fix="nothing is released; check that the installed Great Expectations is of the version in "
            "requirements.lock",
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
    return list(batch.validate(suite, result_format="BOOLEAN_ONLY").results)


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
