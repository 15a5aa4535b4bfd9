"""A workspace as this version writes it, for later versions to open: ``python -m tests.migrations.make`` packs one.

It holds what a gate in use holds: enrolments, a release, one that waits for its second vote, an account, a queued
request. Reports are brief. Run it when a version is released.
"""

import sys
import tarfile
import tempfile
from importlib import metadata
from pathlib import Path

from flows.people.account import Duty
from flows.people.accounts import Accounts
from flows.pipeline.sequence import in_process
from flows.releases.cases import ReleaseAction
from flows.service.config import service_of
from flows.service.intake import Arrival, receive
from flows.workspace.ledger import open_ledger
from tasks.ledger.enrolment import Directory
from tests.support.acting import cast_vote
from tests.support.brief_reports import brief_reports
from tests.support.world import NOW, QUICK_LINKAGE, make_world

FOLDER = Path(__file__).parent
REVIEW = {"required": 2, "reviewers": ["First Reviewer", "Second Reviewer"]}
PASSWORD = "a password of the tests"


def make(target: Path) -> None:
    """Pack a world and its workspace."""
    with tempfile.TemporaryDirectory() as folder, brief_reports():
        world = make_world(Path(folder) / "world")
        world.ask(title="Released", policy={"linkage": QUICK_LINKAGE})
        world.run(in_process)
        world.ask(title="Waiting", policy={"linkage": QUICK_LINKAGE, "review": REVIEW})
        waiting = world.run(in_process)
        vote = ReleaseAction(waiting.release_id, world.workspace, by="First Reviewer", reason="Read.", clock=_now)
        cast_vote(vote, "approve")
        with open_ledger(world.workspace) as ledger:
            person = Directory.of(ledger).person("First Reviewer")
        Accounts(world.workspace).add("first", person, [Duty.REVIEWER], PASSWORD, clock=_now)
        world.ask(title="Queued", policy={"linkage": QUICK_LINKAGE})
        world.enrol(_now)
        arrival = Arrival(world.request.read_bytes(), "http", "queued.yaml", (world.folder,))
        receive(service_of(world.workspace.root), arrival, clock=_now)
        with tarfile.open(target, "w:gz") as archive:
            for part in (world.folder, world.workspace.root):
                archive.add(part, part.name, filter=lambda one: None if "/prefect" in one.name else one)


def _now() -> object:
    return NOW


if __name__ == "__main__":
    make(Path(*sys.argv[1:2]) if sys.argv[1:] else FOLDER / f"workspace-{metadata.version('releasegate')}.tar.gz")
