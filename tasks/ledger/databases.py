"""The places of a ledger, SQLite and PostgreSQL, and the gate's own errors for those of their databases."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.core.errors import Outage, ReleasegateError, WorkspaceError
from tasks.ledger.database import Fault, damaged
from tasks.ledger.postgresql import OVERLOADED, SCHEMES, UNREACHABLE, Postgresql
from tasks.ledger.sqlite import Sqlite

Database = Sqlite | Postgresql
"""A place that holds a ledger, or is to hold one."""


@contextmanager
def translated(database: Database) -> Iterator[None]:
    """Translate a database's errors into ours. The caller's code never runs within it."""
    try:
        yield
    except database.errors as error:
        raise translation(database, error) from None


def translation(database: Database, error: Exception, reading: int | None = None) -> ReleasegateError:
    """The gate's own error for a database error, without its text, which may quote what is stored."""
    fault = database.fault_of(error)
    if isinstance(fault, Fault):
        return (fault if reading is None else damaged(f"entry {reading}")).found(database.noun, database.place)
    got, fix = fault
    what, parts = "the ledger cannot be used", {"expected": f"a writable {database.noun}", "got": got, "fix": fix}
    if fault in (UNREACHABLE, OVERLOADED):
        return Outage(what, server="the ledger's database", where=database.place, **parts)
    return WorkspaceError(what, where=database.place, **parts)


def database_at(place: Path | str) -> Database:
    """The database of a place: PostgreSQL for its addresses, or else SQLite. Raises as ``Postgresql.at``."""
    if isinstance(place, str) and place.startswith(SCHEMES):
        return Postgresql.at(place)
    return Sqlite(Path(place))
