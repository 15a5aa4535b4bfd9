"""Findings of ``releasegate check`` in the data of a request, by column."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flows.studio.project import Project
from tasks.core.errors import RequestProblem, row_positions

_KEPT = 16


@dataclass(frozen=True)
class DataCheck:
    """The findings of one check."""

    of_columns: Mapping[str, tuple[RequestProblem, ...]]
    """Findings that would block the release, by column; of the table as a whole under an empty name."""
    notes: tuple[str, ...]
    """Findings that the author may not expect."""

    @property
    def found(self) -> int:
        """Findings that would block the release."""
        return sum(map(len, self.of_columns.values()))


class Checks:
    """The last check of each document, until it changes."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._last: OrderedDict[tuple[str, str], DataCheck] = OrderedDict()

    def check(self, project: Project) -> DataCheck:
        """Check a project's request and data; raises what ``releasegate check`` does."""
        from flows.actions.checking import checked_request  # noqa: PLC0415  imports Great Expectations, which takes seconds

        key = (str(project.path), project.read().sha256)
        checked = checked_request(project.path, list(project.roots), self._workspace)
        found: dict[str, list[RequestProblem]] = {}
        for one in checked.validation.checks:
            if not one.passed:
                rows = checked.positions.get(one.id, ())
                where = f", {row_positions(rows)}" if rows else ""
                what = f"{one.expectation}: not so for {one.failed:,} of {one.checked:,}{where}"
                found.setdefault(one.column or "", []).append(_finding(what))
        for column in checked.columns.unplaced:
            found.setdefault(column.name, []).append(_finding(column.advice))
        made = DataCheck({name: tuple(all_of) for name, all_of in found.items()}, checked.notes)
        with self._lock:
            self._last[key] = made
            while len(self._last) > _KEPT:
                self._last.popitem(last=False)
        return made

    def last(self, project: Project, sha256: str) -> DataCheck | None:
        """The last check of a document; None where it was not checked since it changed."""
        with self._lock:
            return self._last.get((str(project.path), sha256))


def _finding(what: str) -> RequestProblem:
    return RequestProblem(what, "", 0, 0, "", "", "")
