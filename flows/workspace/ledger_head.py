"""The head of the ledger as a workspace last wrote it, which reveals a ledger that was put back to an older state.

It is noted after each transaction, with an HMAC by the workspace's key, in a private folder of its own, so that a
backup of the others sees no change. A crash in between leaves it behind the ledger, never ahead. Of a ledger that
several machines share, each workspace notes its own last entry.
"""

import hmac
import json
from contextlib import suppress

from flows.workspace.folders import Workspace
from tasks.core.canonical import canonical_json
from tasks.core.errors import TamperingFound
from tasks.core.files import write_whole
from tasks.core.seed import derive_seed
from tasks.ledger.entry import Head
from tasks.ledger.store import Ledger


class NotedHead:
    """The note of one workspace; without the workspace's key, none is written or checked."""

    def __init__(self, workspace: Workspace) -> None:
        self._path, self._key_file = workspace.private / "ledger-head" / "noted", workspace.key_file

    def read(self) -> Head | None:
        """The head that was noted, None where there is none; TamperingFound where the note is not this workspace's."""
        try:
            content = self._path.read_bytes()
            noted = json.loads(content)
            head = Head(int(noted["sequence"]), str(noted["sha256"]))
            sound = hmac.compare_digest(content, self._document(head))
        except (FileNotFoundError, PermissionError):
            return None
        except (OSError, ValueError, TypeError, LookupError):
            sound = False
        if not sound:
            raise self._found(
                "the note of the ledger's head was changed", "the note that this workspace wrote", "another"
            )
        return head

    def raise_to(self, head: Head) -> None:
        """Note a head, unless a later one is noted; what is in the ledger stands, whether or not this succeeds."""
        with suppress(OSError, TamperingFound):
            noted = self.read()
            if noted is None or noted.sequence < head.sequence:
                self.set(head)

    def set(self, head: Head) -> None:
        """Note a head in place of any other; an OSError where the system refuses."""
        write_whole(self._path, self._document(head))

    def check(self, ledger: Ledger) -> None:
        """Raise TamperingFound where the ledger lacks the entry that was noted."""
        noted = self.read()
        if noted is None:
            return
        found = ledger.hash_of(noted.sequence)
        if found != noted.sha256:
            raise self._found(
                "the ledger is older than this workspace, or another one: an entry that was recorded is not in it",
                f"entry {noted.sequence}, {noted.sha256[:16]}…, as recorded from here",
                "no such entry" if found is None else "a different entry",
                ledger.place,
            )

    def _document(self, head: Head) -> bytes:
        key = derive_seed(self._key_file, "ledger", "noted head")
        mac = hmac.new(key, f"{head.sequence}:{head.sha256}".encode(), "sha256").hexdigest()
        return canonical_json({"sequence": head.sequence, "sha256": head.sha256, "hmac_sha256": mac})

    def _found(self, what: str, expected: str, got: str, where: str = "") -> TamperingFound:
        return TamperingFound(
            what,
            where=where or str(self._path),
            expected=expected,
            got=got,
            fix="stop releasing and find out who put it there. If it was restored from a backup on purpose: "
            'releasegate verify ledger --accept-restored "why". Then record again what happened since the backup, '
            "including revocations.",
        )
