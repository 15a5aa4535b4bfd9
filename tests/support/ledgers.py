"""Ledgers to test with: entries, and a way behind the guards of either database."""

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg

from tasks.ledger import postgresql, sqlite
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
CANARY = "canary7731"

Place = Path | str


def add(ledger: Ledger, number: int = 0, event: Event = Event.ASSESSED, **changes: object) -> Entry:
    fields = {"release_id": "r1", "recipient": "a", "actor": "steward", "body": {"n": number}} | changes
    return ledger.append(event, at=NOON + timedelta(seconds=number), **fields)


def fill(place: Place) -> None:
    with Ledger.open(place) as ledger, ledger.transaction():
        for number in range(40):
            add(ledger, number, body={"n": number, "note": CANARY})


@dataclass
class Raw:
    """A connection of whoever owns the database; each statement is a transaction."""

    connection: sqlite3.Connection | psycopg.Connection

    @property
    def is_file(self) -> bool:
        return isinstance(self.connection, sqlite3.Connection)

    def execute(self, *statements: str) -> "Raw":
        for statement in statements:
            self.connection.execute(statement)
        return self

    def unguard(self) -> "Raw":
        guards = sqlite.GUARDS if self.is_file else postgresql._TRIGGERS
        return self.execute(*(f"DROP TRIGGER {guard}" + ("" if self.is_file else " ON entry") for guard in guards))

    def guard(self) -> "Raw":
        if self.is_file:
            return self.execute(*sqlite.GUARDS.values())
        return self.execute(*(one for one in postgresql.guard_statements() if "CREATE FUNCTION" not in one))
