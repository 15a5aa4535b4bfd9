"""The ledger on both of its databases: an entry appended, and a whole ledger verified, signatures among it.

PostgreSQL is a server of the benchmark's own on the same machine, with its disk synchronised as a real one's.
"""

import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tasks.core.people import WorkflowRole
from tasks.ledger.entry import GENESIS, Event, Head, Row, new_row
from tasks.ledger.signing import Signer, registration
from tasks.ledger.store import _ENTRY, Ledger
from tests.benchmarks.record import Benchmark
from tests.benchmarks.record import Row as Figure
from tests.support.postgres import binaries, running_server

ENTRIES = 100_000
APPENDS = 300
LIMIT_SECONDS = 5.0
_NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def entries(signed_share: float) -> Iterator[Row]:
    """A ledger such as releases leave: a request, decisions with their digests, votes signed by one of five people."""
    people = [Signer(f"Reviewer {number}", Ed25519PrivateKey.generate()) for number in range(5)]
    every = round(1 / signed_share) if signed_share else 0
    head = Head(0, GENESIS)
    for number in range(ENTRIES):
        at = _NOON + timedelta(seconds=number)
        release = f"{number // 8:064x}"
        signer: Signer | None = None
        if number < len(people):
            signer = people[number]
            event, body = Event.KEY_REGISTERED, registration(signer, [WorkflowRole.REVIEWER], at)
        elif every and number % every == 0:
            signer = people[number % len(people)]
            event, body = Event.VOTED, {"reviewer": signer.name, "record_sha256": release, "commitment": release}
        else:
            reasons = ["The greatest risk of re-identification, 0.0312, is below its threshold, 0.05."]
            event, body = Event.DECIDED, {"decision": "approved", "reasons": reasons, "record_sha256": release}
        row = new_row(
            head,
            event,
            release_id=release,
            recipient="university",
            actor="gate",
            body=body,
            at=at,
        )
        if signer:
            row = signer.sign(row)
        head = Head(row.sequence, row.sha256)
        yield row


def fill(ledger: Ledger, rows: Iterator[Row]) -> None:
    """Write rows that are ready, in one transaction; the database's own guards check each."""
    with ledger.transaction(), ledger._reading() as connection:
        connection.execute(_ENTRY.insert(), [row._asdict() for row in rows])


def verified(place: Path | str, signed_share: float) -> float:
    """Seconds that it takes to open a ledger and verify all of it."""
    with Ledger.open(place) as ledger:
        fill(ledger, entries(signed_share))
    started = time.perf_counter()
    with Ledger.open(place, create=False) as ledger:
        count = ledger.verify()
    seconds = time.perf_counter() - started
    if count != ENTRIES:
        raise RuntimeError("the ledger does not hold what was written")
    return seconds


def appended(place: Path | str) -> float:
    """Milliseconds that one entry takes, each in a transaction of its own."""
    with Ledger.open(place) as ledger:
        started = time.perf_counter()
        for number in range(APPENDS):
            at = _NOON + timedelta(seconds=number)
            ledger.append(Event.ASSESSED, release_id="r", recipient="a", actor="gate", body={"n": number}, at=at)
        return (time.perf_counter() - started) / APPENDS * 1000


@contextmanager
def places(kind: str) -> Iterator[Iterator[Path | str]]:
    """New places for ledgers, as many as are asked for."""
    if kind == "SQLite":
        with tempfile.TemporaryDirectory() as folder:
            yield (Path(folder) / f"{secrets.token_hex(4)}.sqlite" for _ in iter(int, 1))
    else:
        with running_server(durable=True) as server:
            yield (server.new_database() for _ in iter(int, 1))


def run() -> Benchmark:
    """Time both databases; PostgreSQL is left out where there is no server to start."""
    rows: list[Figure] = []
    kinds = ["SQLite", *(["PostgreSQL"] if binaries() else [])]
    for kind in kinds:
        with places(kind) as new:
            rows.append({"figure": f"{kind}: one entry appended", "ours": appended(next(new)), "unit": "ms"})
            for share in (0.0, 0.1):
                seconds = verified(next(new), share)
                if seconds > LIMIT_SECONDS and share == 0.0:
                    raise RuntimeError(f"{kind}: verification took longer than {LIMIT_SECONDS} s")
                figure = f"{kind}: {ENTRIES:,} entries verified, {share:.0%} of them signed"
                rows.append({"figure": figure, "ours": seconds, "unit": "s"})
    return {"name": "ledger", "title": "The ledger", "rows": rows, "note": f"limit {LIMIT_SECONDS:g} s, nothing signed"}
