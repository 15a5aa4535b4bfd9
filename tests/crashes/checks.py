"""What must hold after a kill, and once the same command has run to its end."""

from collections import Counter
from pathlib import Path

from flows.workspace.folders import Workspace
from tasks.core.errors import TamperingFound
from tasks.decoys.vault import Vault
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger
from tests.crashes.cases import Case
from tests.support.search import files_holding_each
from tests.support.world import ID_MARK, SENSITIVE_MARK

_TEMPORARY = (".key-", ".ledger-", ".partial", "prefect.db.", ".new-", ".tmp")
_KEPT_IN_ORCHESTRATOR = {"prefect.db", "prefect.db-wal", "prefect.db-shm", "server.log"}


class Wrong(Exception):
    """Something that must hold does not."""


def check(condition: object, what: str) -> None:
    """Refuse what must not be."""
    if not condition:
        raise Wrong(what)


class Memory:
    """The ledger as it was; every later one must begin with it."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._hashes: list[str] = []

    def entries(self) -> tuple[Entry, ...]:
        """All entries, after the chain is verified and compared with what was there before."""
        if not self.workspace.ledger.exists():
            check(not self._hashes, "the ledger is gone")
            return ()
        with Ledger.open(self.workspace.ledger, create=False) as ledger:
            ledger.verify()
            entries = ledger.entries()
        hashes = [entry.sha256 for entry in entries]
        check(hashes[: len(self._hashes)] == self._hashes, "an entry of the ledger was lost, or the chain has forked")
        check([entry.sequence for entry in entries] == list(range(1, len(entries) + 1)), "a number is left out")
        self._hashes = hashes
        return entries


def after_kill(memory: Memory, release: str | None) -> None:
    """The chain holds; of the release that was killed nothing lies in the open that is not recorded."""
    entries = memory.entries()
    for bundle in memory.workspace.releases.iterdir() if memory.workspace.releases.is_dir() else ():
        own = [entry for entry in entries if entry.release_id == bundle.name]
        check(
            sum(entry.event is Event.PUBLISHED for entry in own) == 1, "a bundle lies open that was not recorded once"
        )
        released = {entry.recipient for entry in own if entry.event is Event.RELEASED}
        lying = {path.name for path in (bundle / "delivery").glob("*")}
        check(lying <= released, "a copy lies open whose release is not recorded")
        if bundle.name != release:
            check(lying == released, "a recorded copy is not in its bundle")


def after_end(memory: Memory, case: Case, release: str, leftovers: Path) -> None:
    """One published bundle that verifies, exactly the entries that must be, and nothing left over."""
    workspace = memory.workspace
    own = [entry for entry in memory.entries() if entry.release_id == release]
    found = Counter(entry.event for entry in own)
    check(found == case.events, f"the ledger holds {dict(found)}")
    bundle = workspace.bundle(release)
    with Ledger.open(workspace.ledger, create=False) as ledger:
        try:
            report = verify_bundle(bundle, ledger)
        except TamperingFound as error:
            raise Wrong(f"the bundle does not verify: {error.got}") from None
    check(sorted(report.delivered) == sorted(case.delivered), f"delivered: {report.delivered}")
    if case.name == "decoys":
        check(Vault.beside(workspace.key_file).place(release).is_file(), "the manifest of decoys is gone")
    _nothing_is_left(workspace, release)
    marks = (ID_MARK, SENSITIVE_MARK)
    for folder in (workspace.private, leftovers):
        for mark, files in files_holding_each(folder, marks).items():
            check(not files, f"data in {files} ({'an identifier' if mark == ID_MARK else 'a sensitive value'})")


def at_the_end(memory: Memory) -> int:
    """Every bundle verifies, values lie in deliveries alone; the number of bundles."""
    workspace = memory.workspace
    published = [entry.release_id for entry in memory.entries() if entry.event is Event.PUBLISHED]
    bundles = sorted(path.name for path in workspace.releases.iterdir())
    check(sorted(map(str, published)) == bundles, "bundles and recorded publications differ")
    with Ledger.open(workspace.ledger, create=False) as ledger:
        for bundle in workspace.releases.iterdir():
            verify_bundle(bundle, ledger)
    check(not list(workspace.staging.iterdir()), "a staged bundle is left")
    found = files_holding_each(workspace.root, (ID_MARK, SENSITIVE_MARK))
    check(not found[ID_MARK], f"identifiers in {found[ID_MARK]}")
    outside = [name for name in found[SENSITIVE_MARK] if "/delivery/university/" not in name]
    check(not outside, f"values outside of deliveries: {outside}")
    return len(bundles)


def _nothing_is_left(workspace: Workspace, release: str) -> None:
    private = workspace.private
    check(not workspace.run(release).exists(), "files of the run are left")
    check(not (workspace.staging / release).exists(), "a staged bundle is left")
    check(not workspace.additions(release).exists(), "a staged delivery is left")
    check(not (private / "pending" / release).exists(), "a sealed delivery is left that nobody waits for")
    votes = private / "votes" / release
    check(not [path for path in votes.rglob("*") if path.is_file()], "sealed votes are left")
    strange = {path.name for path in workspace.orchestrator.iterdir()} - _KEPT_IN_ORCHESTRATOR
    stray = [
        str(path.relative_to(workspace.root))
        for path in workspace.root.rglob("*")
        if path.is_file() and any(part in path.name for part in _TEMPORARY) and path.name not in _KEPT_IN_ORCHESTRATOR
    ]
    check(not stray, f"temporary files are left: {stray}")
    check(not {name for name in strange if name.startswith("results")}, "results of stages are left")
