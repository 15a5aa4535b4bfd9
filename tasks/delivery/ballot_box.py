"""Where sealed votes of one recipient's release lie until all are in: a private folder of the workspace."""

import os
import secrets
import shutil
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from tasks.decision.people import person_key
from tasks.decision.votes import Ballot, open_ballot, seal_ballot
from tasks.delivery.seed import derive_seed
from tasks.errors import TamperingFound

_MODE = 0o600


@dataclass(frozen=True)
class BallotBox:
    """The sealed votes on one recipient's release."""

    folder: Path
    """Made with the first vote."""
    key_file: Path
    release_id: str

    def place(self, reviewer: str, commitment: str) -> Path:
        """File of a vote; names of people may hold what a file's name cannot, so it holds a digest."""
        return self.folder / f"{sha256(person_key(reviewer).encode()).hexdigest()[:16]}.{commitment[:16]}.sealed"

    def put(self, ballot: Ballot) -> None:
        """Keep a vote, on disk on return; an earlier one of the same reviewer stays until `keep_only`."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.place(ballot.reviewer, ballot.commitment)
        draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE), "wb") as stream:
                stream.write(seal_ballot(ballot, self._key()))
                stream.flush()
                os.fsync(stream.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)

    def open(self, reviewer: str, commitment: str) -> Ballot:
        """A reviewer's vote.

        Raises
        ------
        TamperingFound
            If it is missing, was changed, or is not what the reviewer committed to.
        """
        path = self.place(reviewer, commitment)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise TamperingFound(
                "a sealed vote is missing",
                where=str(path),
                expected=f"the vote of {reviewer}, which the ledger records",
                got="no such file",
                fix=f"restore it from a backup, or let {reviewer} vote again",
            ) from None
        return open_ballot(content, self._key(), commitment)

    def keep_only(self, reviewer: str, commitment: str) -> None:
        """Remove a reviewer's earlier votes."""
        kept = self.place(reviewer, commitment)
        for path in self.folder.glob(f"{kept.name.split('.')[0]}.*.sealed"):
            if path != kept:
                path.unlink()

    def clear(self) -> None:
        """Remove all votes: they are open by now, or void."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _key(self) -> bytes:
        return derive_seed(self.key_file, self.release_id, "votes")
