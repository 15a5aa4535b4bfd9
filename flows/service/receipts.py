"""Receipts beside the files of an inbox: at once the id of a request, and later its outcome."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from flows.queue.queue import OPEN, QueuedRequest
from flows.service.config import Service
from flows.service.messages import link, reason_lines
from tasks.core.errors import WorkspaceError
from tasks.core.files import write_whole

SUFFIX = ".receipt.txt"
_ID = re.compile(r"id: ([0-9a-f]{64})\nstate: (.+)\n")
_OPEN = frozenset(state.value for state in OPEN)


class Receipts:
    """The receipts in one folder; those of requests without a verdict are kept up to date."""

    def __init__(self, service: Service, folder: Path) -> None:
        self._service, self._folder = service, folder
        self._open: dict[Path, tuple[str, str]] = {}
        """Id and text of the receipts of requests without a verdict."""
        self._seen: tuple[int, int] | None = None

    def prepare(self) -> None:
        """Find the receipts that an earlier service has left open."""
        for path in sorted(self._folder.glob(f"*{SUFFIX}")):
            with suppress(OSError, UnicodeDecodeError):
                text = path.read_text(encoding="utf-8")
                found = _ID.match(text)
                if found is not None and found[2] in _OPEN:
                    self._open[path] = found[1], text

    def write(self, file: Path, entry: QueuedRequest) -> None:
        """Write the receipt of a file, which need not be there yet."""
        path, text = file.with_name(file.name + SUFFIX), "".join(f"{line}\n" for line in self._lines(entry))
        if self._open.get(path) == (entry.id, text):
            return
        write_whole(path, text.encode())
        self._open[path] = entry.id, text
        if not entry.is_open:
            del self._open[path]

    def tick(self) -> None:
        """Write down the outcomes of requests since; the queue is read only where it has changed."""
        changed = self._service.queue.changed()
        if changed == self._seen or not self._open:
            return
        for path, (name, _) in list(self._open.items()):
            with suppress(WorkspaceError):  # a damaged entry, which health reports
                entry = self._service.queue.get(name)
                if entry is not None:
                    self.write(path.with_name(path.name.removesuffix(SUFFIX)), entry)
        self._seen = changed

    def _lines(self, entry: QueuedRequest) -> Iterator[str]:
        yield f"id: {entry.id}"
        yield f"state: {entry.state.value}"
        for who, verdict in sorted(entry.verdicts.items()):
            yield f"{who}: {verdict}"
        if not entry.is_open or not entry.verdicts:
            yield from reason_lines(entry.reason)
        if entry.waits_for:
            yield f"waiting: {entry.waits_for} does not answer"
        if entry.title:
            yield f"title: {entry.title}"
            yield f"recipients: {', '.join(entry.recipients)}"
        yield f"received: {entry.accepted_at:%Y-%m-%d %H:%M} UTC"
        if entry.finished_at is not None:
            yield f"finished: {entry.finished_at:%Y-%m-%d %H:%M} UTC"
        place = link(self._service.settings.page.address, entry.release_id or entry.id, None)
        if place is not None:
            yield f"link: {place}"
