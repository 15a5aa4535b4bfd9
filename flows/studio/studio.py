"""All that the pages for requesting rest on, for one workspace."""

from dataclasses import dataclass
from typing import Protocol

from flows.studio.checking import Checks
from flows.studio.columns import ColumnReader
from flows.studio.desk import Desk
from flows.studio.project import Project
from flows.studio.quick import Quick
from flows.studio.runs import RunState


class Runs(Protocol):
    """Runs of the gate on requests."""

    def start(self, project: Project, by: str) -> None:
        """Begin a run for a login. Raises a ReleasegateError if there can be none now."""

    def state(self, project: Project) -> RunState | None:
        """The last run of a project; None where there was none."""


@dataclass(frozen=True)
class Studio:
    """Projects, and what reads, measures, checks and runs them."""

    desk: Desk
    runs: Runs
    checks: Checks
    columns: ColumnReader
    quick: Quick

    @classmethod
    def of(cls, desk: Desk, runs: Runs) -> "Studio":
        """The studio of a workspace, with nothing read yet."""
        return cls(desk, runs, Checks(desk.workspace.root), ColumnReader(), Quick())
