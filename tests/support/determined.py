"""A workspace with a published release whose determinations are real PDFs, made without running the gate."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from flows.actions.expert_signature import SignedDetermination, sign_determination
from flows.releases.cases import ReleaseAction
from flows.workspace.folders import Workspace, open_workspace
from flows.workspace.ledger import open_ledger
from reports.pdf import Attachment, write_pdf
from tasks.core.canonical import canonical_json
from tasks.decision import bodies
from tasks.decision.record import DecisionRecord
from tasks.delivery.bundle import publish, seal
from tasks.delivery.columns import DICTIONARY_FILE, columns_of
from tasks.delivery.verification import BundleReport, verify_bundle
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger
from tests.support import records
from tests.support.certificates import Issuer, pki

NAME = sha256(b"signed release").hexdigest()
NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
COLUMNS = columns_of(records.approved())
DATA = "\n".join((",".join(COLUMNS), ",".join("*" for _ in COLUMNS), "")).encode()


class Noon(datetime):
    """A day on which the decisions hold, whatever the day of the test."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return NOON.astimezone(tz or UTC)


@cache
def determination(record: bytes) -> bytes:
    """A PDF/A-3a of one page that holds a record."""
    return write_pdf(
        '<html lang="en"><head><title>Determination</title></head><body><h1>Determination</h1></body></html>',
        assets={},
        attachments=[Attachment("decision.json", record, "The decision record")],
        moment=NOON,
        identifier=sha256(record).hexdigest()[:32],
    )


@dataclass(frozen=True)
class Determined:
    """A published release to two recipients: one approved, one blocked."""

    workspace: Workspace

    @property
    def bundle(self) -> Path:
        return self.workspace.bundle(NAME)

    def report(self, recipient: str = "university") -> bytes:
        return (self.bundle / "report" / f"{recipient}.pdf").read_bytes()

    def sign(self, expert: Issuer | None = None, recipient: str = "university", **options: Any) -> SignedDetermination:
        read = options.pop("read_credentials", lambda: pki().credentials(expert))
        return sign_determination(
            ReleaseAction(NAME, self.workspace, recipient=recipient, **{"clock": lambda: NOON} | options), read
        )

    def verified(self) -> BundleReport:
        with open_ledger(self.workspace) as ledger:
            return verify_bundle(self.bundle, ledger)

    def entries(self, event: Event | None = None) -> tuple[Entry, ...]:
        with open_ledger(self.workspace) as ledger:
            return ledger.entries(event=event)

    def append(self, event: Event = Event.REQUESTED, **body: object) -> None:
        """An entry of somebody else's release."""
        with open_ledger(self.workspace) as ledger:
            ledger.append(event, release_id="other", recipient="clinic", actor="gate", body=body, at=NOON)


def write_delivery(folder: Path) -> None:
    """Write data and dictionary with the columns of the records."""
    (folder / "data.csv").write_bytes(DATA)
    (folder / DICTIONARY_FILE).write_text(json.dumps({"columns": [{"name": name} for name in COLUMNS]}))


def _records(ledger: Ledger) -> list[DecisionRecord]:
    common = {"release_id": NAME, "prev_record_sha256": ledger.head().sha256}
    approved, blocked = (records.changed(one, **common) for one in (records.approved(), records.blocked()))
    dataset = approved.dataset.model_copy(update={"output_sha256": sha256(DATA).hexdigest()})
    return [
        records.changed(approved, dataset=dataset),
        records.changed(blocked, recipient=blocked.recipient.model_copy(update={"id": "registry"})),
    ]


def determined(root: Path) -> Determined:
    """Publish the release in a new workspace; its ledger is where the environment says."""
    workspace = open_workspace(root)
    with open_ledger(workspace, create=True) as ledger:
        for number in range(3):
            ledger.append(Event.REQUESTED, release_id=NAME, recipient=None, actor="gate", body={"n": number}, at=NOON)
        decided = _records(ledger)
        staged = workspace.staging / NAME
        for part in ("decision", "report", "delivery/university"):
            (staged / part).mkdir(parents=True)
        for record in decided:
            content = canonical_json(record)
            (staged / "decision" / f"{record.recipient.id}.json").write_bytes(content)
            (staged / "report" / f"{record.recipient.id}.pdf").write_bytes(determination(content))
        write_delivery(staged / "delivery/university")
        manifest = seal(staged)
        told = [(Event.DECIDED, record.recipient.id, bodies.decided(record)) for record in decided]
        told.append((Event.RELEASED, "university", bodies.released(sha256(DATA).hexdigest())))
        told.append((Event.PUBLISHED, "", bodies.published(manifest.sha256)))
        with ledger.transaction():
            for event, recipient, body in told:
                ledger.append(event, release_id=NAME, recipient=recipient or None, actor="gate", body=body, at=NOON)
        publish(staged, workspace.bundle(NAME), manifest.sha256)
    return Determined(workspace)
