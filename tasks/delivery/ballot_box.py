"""Storage of the sealed votes on one recipient's release until all are in: a private folder of the workspace."""

import shutil
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from tasks.core.errors import TamperingFound
from tasks.core.files import write_whole
from tasks.core.people import person_key
from tasks.core.seed import derive_seed
from tasks.decision.votes import Ballot, open_ballot, seal_ballot


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
        write_whole(self.place(ballot.reviewer, ballot.commitment), seal_ballot(ballot, self._key()))

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
