"""The stages of a run as the board shows them, and requests to cancel it: small files beside the queue's entry.

::

    .releasegate/queue/<id>.steps     a line a stage: time and name; names stages and recipients, never data
    .releasegate/queue/<id>.cancel    who wants the request cancelled, and why
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from flows.queue.undecided import BoardStep
from flows.workspace.actor import Clock
from flows.workspace.progress import listening
from tasks.core.errors import RequestCancelled
from tasks.core.files import write_whole

PUBLISHING = "sealing and publishing the bundle"
"""The stage from which on a run is not stopped: what it writes is one decision."""


def login_in(by: str) -> str:
    """The login in “Name (login)”."""
    return by.rpartition("(")[2].removesuffix(")")


class RunNotes:
    """The notes of one request in the queue's folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._name = name
        self._steps, self._cancel = folder / f"{name}.steps", folder / f"{name}.cancel"

    def steps(self) -> tuple[BoardStep, ...]:
        """Stages of the present run; a last line that is not whole is left out."""
        try:
            lines = self._steps.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return ()
        found = []
        for line in lines:
            try:
                at, text = json.loads(line)
                found.append(BoardStep(datetime.fromisoformat(at), str(text)))
            except (TypeError, ValueError):
                break
        return tuple(found)

    def request_cancellation(self, who: str, reason: str) -> None:
        """Note that a person wants the request cancelled."""
        write_whole(self._cancel, json.dumps([who, reason]).encode())

    def cancellation(self) -> RequestCancelled | None:
        """The error of a request that a person has cancelled; None where nobody has."""
        try:
            who, reason = json.loads(self._cancel.read_bytes())
        except FileNotFoundError:
            return None
        except (TypeError, ValueError):  # written whole, so that nobody but a person can have spoilt it
            who, reason = "an unreadable note", "the note of it cannot be read"
        return RequestCancelled(
            "the request was cancelled",
            where=f"request {self._name[:12]}",
            expected="a request that is to be decided",
            got=f"cancelled by {who}: {reason}",
            fix="submit it again",
            person=who,
            login=f"{login_in(who)} (reviewer's page)",
            said=reason,
        )

    def clear(self) -> None:
        """Remove the notes."""
        self._steps.unlink(missing_ok=True)
        self._cancel.unlink(missing_ok=True)

    @contextmanager
    def followed(self, clock: Clock) -> Iterator[None]:
        """Note the stages of the block; raises RequestCancelled before a stage that is not to begin any more."""
        self._steps.unlink(missing_ok=True)
        publishing = False

        def note(text: str) -> None:
            nonlocal publishing
            if not text:  # a wait that has no words
                return
            if not publishing:
                cancelled = self.cancellation()
                if cancelled is not None:
                    raise cancelled
            publishing = publishing or text == PUBLISHING
            with self._steps.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps([clock().isoformat(), text]) + "\n")

        try:
            with listening(note):
                yield
        finally:
            self._steps.unlink(missing_ok=True)
