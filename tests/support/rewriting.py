"""What an administrator can do who owns the ledger's database: write the whole chain anew, right in itself."""

from collections.abc import Callable, Sequence

from tasks.ledger.entry import GENESIS, Row
from tests.support.ledgers import Raw

_COLUMNS = ", ".join(Row._fields)


def chained(rows: Sequence[Row]) -> list[Row]:
    """The rows numbered anew, each linked to the one before it and hashed."""
    made: list[Row] = []
    for number, row in enumerate(rows, start=1):
        linked = row._replace(sequence=number, prev_sha256=made[-1].sha256 if made else GENESIS)
        made.append(linked._replace(sha256=linked.computed_sha256() or ""))
    return made


def rewrite(raw: Raw, change: Callable[[list[Row]], Sequence[Row]]) -> None:
    """Replace all entries by what a change makes of them, guards and all as they were."""
    rows = [Row(*stored) for stored in raw.connection.execute(f"SELECT {_COLUMNS} FROM entry ORDER BY sequence")]
    made = chained(change(rows))
    mark = "?" if raw.is_file else "%s"
    raw.unguard().execute("DELETE FROM entry")
    for row in made:
        marks = ", ".join(mark for _ in row)
        raw.connection.execute(f"INSERT INTO entry ({_COLUMNS}) VALUES ({marks})", tuple(row))  # type: ignore[call-overload]
    raw.guard()


def without(*numbers: int) -> Callable[[list[Row]], list[Row]]:
    """A change that leaves entries out."""
    return lambda rows: [row for row in rows if row.sequence not in numbers]


def with_other(number: int) -> Callable[[list[Row]], list[Row]]:
    """A change of who an entry says it was caused by."""
    return lambda rows: [row._replace(actor="somebody else") if row.sequence == number else row for row in rows]
