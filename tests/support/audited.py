"""Ledgers to audit: entries as the gate and people write them, chained in memory, for files and for pure functions."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from tasks.audit.build import audit_report
from tasks.audit.history import Period
from tasks.audit.report import AuditReport
from tasks.core.people import WorkflowRole
from tasks.decision import bodies
from tasks.decision.bodies import KeptDecision, kept_decision
from tasks.decision.votes import Ballot
from tasks.ledger.chain import ChainCheck, Checkpoints, Examination
from tasks.ledger.entry import GENESIS, Event, Head, Row, new_row
from tasks.ledger.signing import Signer
from tasks.ledger.store import _ENTRY, Ledger
from tests.support import records
from tests.support.records import sha

STEWARD, FIRST, SECOND, OFFICER = "A. Steward", "M. Okafor", "J. Brandt", "P. Officer"
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
NOW = datetime(2026, 4, 10, 8, 30, tzinfo=UTC)
QUARTER = Period(date(2026, 1, 1), date(2026, 3, 31))
_KEPT = kept_decision(records.approved())


def kept(recipient: str = "university", **changes: Any) -> KeptDecision:
    """What the ledger keeps of an approved release, with some of it changed."""
    own = {
        "requested_by": STEWARD,
        "organisation": f"{recipient.capitalize()} of Cumberland",
        "source_sha256": sha("data"),
        "records": 400,
        "valid_from": date(2026, 1, 5),
        "valid_until": date(2026, 12, 31),
        "agreement": {"id": f"DUA-{recipient}", "expires": date(2028, 12, 31)},
    }
    return KeptDecision.model_validate(_KEPT.model_dump() | own | changes)


def policy(version: str, content: str = "") -> dict[str, Any]:
    """A policy of some version, with contents of its own."""
    return {"id": "outbound", "version": version, "sha256": sha(version + content), "small_cell": 11}


class Chronicle:
    """Rows of a ledger, one after another; each method adds what one step of the gate would."""

    def __init__(self, start: datetime = START) -> None:
        self.rows: list[Row] = []
        self.now = start
        self.actor = "steward"
        self._files: dict[tuple[str, str], str] = {}
        self._records: dict[tuple[str, str], str] = {}
        self._ballots: dict[tuple[str, str], list[Ballot]] = {}

    def after(self, **step: float) -> "Chronicle":
        """Let time go by."""
        self.now += timedelta(**step)
        return self

    def on(self, year: int, month: int, day: int, hour: int = 9) -> "Chronicle":
        """Go to a day."""
        self.now = datetime(year, month, day, hour, tzinfo=UTC)
        return self

    def add(
        self,
        event: Event,
        body: Mapping[str, object],
        release: str | None = None,
        recipient: str | None = None,
        *,
        actor: str = "",
        signer: Signer | None = None,
    ) -> int:
        """One entry; its number."""
        head = Head(self.rows[-1].sequence, self.rows[-1].sha256) if self.rows else Head(0, GENESIS)
        row = new_row(
            head,
            event,
            release_id=None if release is None else sha(release),
            recipient=recipient,
            actor=actor or self.actor,
            body=body,
            at=self.now,
        )
        if signer is not None:
            row = signer.sign(row)
        self.rows.append(row)
        return row.sequence

    def request(self, release: str, *, by: str = STEWARD, title: str = "Income of adults") -> int:
        return self.add(
            Event.REQUESTED,
            {"title": title, "requested_by": by, "recipients": [], "dataset_sha256": sha("data"), "decoys": True},
            release,
        )

    def decide(
        self,
        release: str,
        recipient: str = "university",
        verdict: str = "approved",
        reasons: Sequence[str] = ("All 10 gates passed.",),
        **changes: Any,
    ) -> int:
        facts = kept(recipient, **{"output_sha256": sha(release + recipient), **changes})
        key = (release, recipient)
        self._records[key], self._files[key] = sha("record" + release + recipient), sha(release + recipient)
        self._ballots[key] = []
        body: dict[str, object] = {
            "decision": verdict, "reasons": list(reasons), "record_sha256": self._records[key],
            "determined": facts.model_dump(mode="json", exclude_none=True),
        }  # fmt: skip
        return self.add(Event.DECIDED, body, release, recipient)

    def deliver(self, release: str, recipient: str = "university") -> int:
        return self.add(Event.RELEASED, bodies.released(self._files[release, recipient]), release, recipient)

    def publish(self, release: str, recipient: str = "university", **changes: Any) -> int:
        """Request, approval and delivery; the entry of the delivery."""
        self.request(release)
        self.after(minutes=2).decide(release, recipient, **changes)
        return self.deliver(release, recipient)

    def vote(self, release: str, who: str, vote: Any = "approve", recipient: str = "university", **options: Any) -> int:
        key = (release, recipient)
        ballot = Ballot(
            release_id=sha(release), recipient=recipient, record_sha256=self._records[key], reviewer=who, vote=vote,
            reason=f"{who} has recounted", nonce=sha(who + release),
        )  # fmt: skip
        self._ballots[key].append(ballot)
        return self.add(Event.VOTED, bodies.voted(ballot), release, recipient, **{"actor": who.casefold()} | options)

    def open_votes(self, release: str, event: Event, recipient: str = "university") -> int:
        for ballot in self._ballots.pop((release, recipient)):
            self.add(Event.REVIEWED, bodies.reviewed(ballot), release, recipient)
        self._ballots[release, recipient] = []
        return self.add(event, bodies.outcome(self._records[release, recipient]), release, recipient)

    def revoke(
        self,
        release: str,
        by: str = STEWARD,
        role: WorkflowRole = WorkflowRole.REQUESTER,
        recipient: str = "university",
    ) -> int:
        return self.add(Event.REVOKED, bodies.revoked(by, role, "Agreement broken"), release, recipient)

    def override(self, release: str, by: str = OFFICER, recipient: str = "university") -> int:
        body = bodies.overridden(by, "The purpose was amended")
        return self.add(Event.OVERRIDDEN, body, release, recipient, actor=by.casefold())

    def trace(self, release: str, verdict: str, named: Sequence[str] = (), **body: object) -> int:
        asked = {"kind": "rows", "incident_sha256": sha("incident"), "total": 7}
        return self.add(
            Event.TRACED, {**asked, "verdict": verdict, "named": list(named), **body}, release, actor="responder"
        )

    def audit(self, period: Period = QUARTER, made_at: datetime = NOW) -> AuditReport:
        """The audit of an unbroken ledger with these rows."""
        check = ChainCheck(Checkpoints())
        for row in self.rows:
            check.add(row)
        found = Examination(tuple(self.rows), check.head, check.signatures, len(check.keys.keys), None, None)
        return audit_report(found, period, noted_outside=0, made_at=made_at, program="0.1.0")


def busy_quarter() -> Chronicle:
    """A quarter in which everything happened that an audit tells of, and one file left before it."""
    log = Chronicle(datetime(2025, 3, 20, 9, 0, tzinfo=UTC))
    log.publish(
        "old", "clinic", valid_from=date(2025, 3, 20), valid_until=date(2026, 3, 20), policy=policy("2025.1"),
        agreement={"id": "DUA-clinic", "expires": date(2026, 3, 20)}, source_sha256=sha("registry"),
    )  # fmt: skip
    log.on(2025, 11, 3).request("bare")
    log.decide("bare", "registry", records=900, policy=policy("2025.1"))
    log.deliver("bare", "registry")
    log.on(2026, 1, 5).publish("first", policy=policy("2026.1"), valid_until=date(2026, 4, 30))
    log.on(2026, 1, 12).add(
        Event.REFUSED, {"what": "the request document is not valid", "where": "request.yaml, line 3"}, None
    )
    log.on(2026, 1, 20).request("stopped")
    log.add(Event.FAILED, {"what": "a stage ran out of memory", "where": "generalization"}, "stopped")
    log.after(hours=1).request("stopped")
    log.after(minutes=3).decide(
        "stopped", "broker", "blocked", ("Highest risk of a record: 0.5 measured; at most 0.09 allowed.",),
        output_sha256=None, records=None, policy=policy("2026.1"),
    )  # fmt: skip
    log.on(2026, 2, 2).request("reviewed")
    asked = {"reviews_required": 2, "reviewers": (FIRST, SECOND), "officers": (OFFICER,)}
    log.decide(
        "reviewed", verdict="awaiting review", reasons=("All 10 gates passed; 2 reviews are still needed.",),
        policy=policy("2026.2"), source_sha256=sha("wages"), records=7, valid_until=date(2026, 6, 20), **asked,
    )  # fmt: skip
    log.after(hours=2).vote("reviewed", FIRST)
    log.after(hours=2).vote("reviewed", SECOND, "reject")
    log.open_votes("reviewed", Event.REJECTED)
    log.on(2026, 2, 4).override("reviewed")
    log.after(hours=2).vote("reviewed", FIRST)
    log.after(hours=2).vote("reviewed", SECOND)
    log.open_votes("reviewed", Event.APPROVED)
    log.deliver("reviewed")
    log.on(2026, 2, 16).publish("renewed", "clinic", policy=policy("2026.2"), source_sha256=sha("registry"),
        valid_until=date(2026, 5, 15), agreement={"id": "DUA-clinic-2", "expires": date(2026, 5, 20)})  # fmt: skip
    log.on(2026, 3, 3).publish("leaked", policy=policy("2026.2"), source_sha256=sha("wages"), records=1200)
    log.on(2026, 3, 10).trace("leaked", "decoys", ["university"], suspected=["broker"])
    log.after(hours=30).revoke("leaked")
    log.on(2026, 3, 12).trace("old", "refused", (), reason="the manifest cannot be opened with these keys")
    log.on(2026, 3, 20).request("waiting")
    log.decide("waiting", "broker", "awaiting review", ("All 10 gates passed; 1 review is still needed.",),
               policy=policy("2026.2", "edited"), reviews_required=1, reviewers=(FIRST,))  # fmt: skip
    log.on(2026, 3, 30).request("under way")
    log.on(2026, 4, 2).publish("next", policy=policy("2026.2"))
    return log


def write_ledger(place: Path | str, rows: Sequence[Row]) -> None:
    """A ledger with these rows, in one transaction; the database's own guards check each."""
    with Ledger.open(place) as ledger, ledger.transaction(), ledger._reading() as connection:
        connection.execute(_ENTRY.insert(), [row._asdict() for row in rows])


def long_ledger(entries: int) -> Chronicle:
    """Releases to forty recipients over three years, one in five of them reviewed, until there are so many entries."""
    log = Chronicle(datetime(2023, 1, 2, 9, 0, tzinfo=UTC))
    number = 0
    while len(log.rows) < entries:
        number += 1
        release, recipient = f"release {number}", f"recipient-{number % 40:02d}"
        log.after(hours=13)
        facts = {
            "valid_from": log.now.date(),
            "valid_until": log.now.date() + timedelta(days=365),
            "agreement": {"id": f"DUA-{recipient}", "expires": date(2026, 6, 30)},
            "policy": policy(f"{log.now.year}.{1 + log.now.month // 7}"),
            "source_sha256": sha(f"data {number % 97}"),
        }
        log.request(release)
        if number % 11 == 0:
            log.add(Event.FAILED, {"what": "a stage ran out of memory", "where": "generalization"}, release)
        elif number % 7 == 0:
            log.decide(release, recipient, "blocked", ("Risk above its threshold.",), **facts)
        elif number % 5 == 0:
            asked = {"reviews_required": 2, "reviewers": (FIRST, SECOND), "officers": (OFFICER,)}
            log.decide(release, recipient, "awaiting review", **facts, **asked)
            log.after(hours=1).vote(release, FIRST, recipient=recipient)
            log.after(hours=1).vote(release, SECOND, recipient=recipient)
            log.open_votes(release, Event.APPROVED, recipient)
            log.deliver(release, recipient)
        else:
            log.decide(release, recipient, **facts)
            log.deliver(release, recipient)
            if number % 60 == 1:
                log.after(hours=2).trace(release, "decoys", [recipient])
            if number % 60 < 3:
                log.after(hours=5).revoke(release, recipient=recipient)
    return log
