"""The service's log: lines for people, or JSON lines for programs; names and ids, never data."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from tasks.core.errors import ReleasegateError
from tasks.core.guard import place_of

_LOGGER = logging.getLogger("releasegate.service")
_ALL = logging.getLogger("releasegate")
"""Of the service and of its pages."""


def start_logging(*, as_json: bool) -> None:
    """Write the log to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogLine(as_json=as_json))
    _ALL.handlers[:] = [handler]
    _ALL.setLevel(logging.INFO)
    _ALL.propagate = False
    # Its messages about an unusable address contain that address.
    logging.getLogger("apprise").addHandler(logging.NullHandler())
    logging.getLogger("apprise").propagate = False


def log(event: str, **fields: Any) -> None:
    """Log an event."""
    _LOGGER.info(event, extra={"fields": fields})


def log_problem(event: str, error: BaseException, **fields: Any) -> None:
    """Log a problem; of an error that is not the gate's own, only its type and place."""
    if isinstance(error, ReleasegateError):
        details = {"error": error.in_one_line()}
    else:
        details = {"error": type(error).__name__, "place": place_of(error)}
    _LOGGER.warning(event, extra={"fields": details | fields})


class LogLine(logging.Formatter):
    """Time, event and fields of a record in one line; without the time where `dated` is false."""

    def __init__(self, *, as_json: bool = False, dated: bool = True) -> None:
        super().__init__()
        self._as_json, self._dated = as_json, dated

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        fields = {name: value for name, value in getattr(record, "fields", {}).items() if value is not None}
        at = datetime.fromtimestamp(record.created, UTC)
        if self._as_json:
            stamp = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            head = {"at": stamp, "level": record.levelname.lower(), "event": record.getMessage()}
            return json.dumps(head | fields, default=str, ensure_ascii=False)
        shown = "".join(f"  {name}: {value}" for name, value in fields.items())
        when = f"{at:%Y-%m-%d %H:%M:%S}  " if self._dated else ""
        return f"{when}{record.getMessage()}{shown}".replace("\n", " ")
