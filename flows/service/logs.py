"""The service's log: lines for people, or JSON lines for programs; names and ids, never data."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

_LOGGER = logging.getLogger("releasegate.service")


def start_logging(*, as_json: bool) -> None:
    """Write the log to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if as_json else _Plain())
    _LOGGER.handlers[:] = [handler]
    _LOGGER.setLevel(logging.INFO)
    _LOGGER.propagate = False
    # Its messages about an unusable address contain that address.
    logging.getLogger("apprise").addHandler(logging.NullHandler())
    logging.getLogger("apprise").propagate = False


def log(event: str, **fields: Any) -> None:
    """Log an event."""
    _LOGGER.info(event, extra={"fields": fields})


def log_problem(event: str, error: BaseException, **fields: Any) -> None:
    """Log a problem; of an error that is not the gate's own, only its type and place."""
    from tasks.core.errors import ReleasegateError  # noqa: PLC0415

    if isinstance(error, ReleasegateError):
        details: dict[str, Any] = {"error": error.in_one_line()}
    else:
        details = {"error": type(error).__name__, "place": _place(error)}
    _LOGGER.warning(event, extra={"fields": details | fields})


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "unknown" if trace is None else f"{trace.tb_frame.f_code.co_name}, line {trace.tb_lineno}"


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = getattr(record, "fields", {})
    return {name: value for name, value in fields.items() if value is not None}


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        head = {"at": at, "level": record.levelname.lower(), "event": record.getMessage()}
        return json.dumps(head | _fields(record), default=str, ensure_ascii=False)


class _Plain(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%d %H:%M:%S")
        fields = "".join(f"  {name}: {value}" for name, value in _fields(record).items())
        return f"{at}  {record.getMessage()}{fields}".replace("\n", " ")
