"""All that the pages for requesting rest on, for one workspace."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from flows.studio.desk import Desk
from flows.studio.project import Project
from flows.studio.runs import RunState

if TYPE_CHECKING:
    from flows.studio.checking import Checks
    from flows.studio.columns import ColumnReader
    from flows.studio.quick import Quick


class Runs(Protocol):
    """Runs of the gate on requests."""

    def start(self, project: Project, by: str) -> None:
        """Begin a run for a login. Raises a ReleasegateError if there can be none now."""

    def state(self, project: Project) -> RunState | None:
        """The last run of a project; None where there was none."""


@dataclass(frozen=True)
class Studio:
    """Projects, and what reads, measures, checks and runs them; all but runs is imported when it is first used."""

    desk: Desk
    runs: Runs

    @cached_property
    def checks(self) -> "Checks":
        """Checks of data."""
        from flows.studio.checking import Checks  # noqa: PLC0415

        return Checks(self.desk.workspace.root)

    @cached_property
    def columns(self) -> "ColumnReader":
        """Columns of files as read."""
        from flows.studio.columns import ColumnReader  # noqa: PLC0415

        return ColumnReader()

    @cached_property
    def quick(self) -> "Quick":
        """Quick figures."""
        from flows.studio.quick import Quick  # noqa: PLC0415

        return Quick()
