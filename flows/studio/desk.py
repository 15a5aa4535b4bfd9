"""Projects of the people who write requests: in private folders of the workspace, and a request on disk that was named.

::

    <workspace>/.releasegate/studio/<owner>/<project>/   request.yaml, its data and its hierarchies
    <workspace>/.releasegate/studio/<owner>/<project>/.runs/   progress of its runs
"""

import hashlib
import re
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from flows.library.policies import PolicyShelf
from flows.studio.project import Project
from flows.workspace.folders import Workspace
from tasks.core.errors import BadInput
from tasks.request.document import REQUEST_FILE

_NAME = re.compile(r"[0-9a-f]{12}")
GIVEN = "given"
"""Name of the project of a request on disk."""


@dataclass(frozen=True)
class Desk:
    """The projects of a workspace."""

    workspace: Workspace
    given: Path | None = None
    """A request on disk, which everybody here may change."""
    roots: tuple[Path, ...] = ()
    """Further folders that requests may name files in."""

    def projects(self, owner: str) -> list[Project]:
        """Projects of an owner, the one that was changed last first."""
        folder = self._folder(owner)
        found = [self._project(one) for one in folder.iterdir() if _NAME.fullmatch(one.name)] if folder.is_dir() else []
        drafted = [one for one in found if one.path.is_file()]
        drafted.sort(key=lambda one: one.path.stat().st_mtime_ns, reverse=True)
        given = self._given()
        return drafted if given is None else [given, *drafted]

    def project(self, owner: str, name: str) -> Project | None:
        """A project of an owner; None where there is none of this name."""
        if name == GIVEN:
            return self._given()
        found = self._project(self._folder(owner) / name) if _NAME.fullmatch(name) else None
        return found if found is not None and found.path.is_file() else None

    def new_folder(self, owner: str) -> Path:
        """A new folder of mode 0700 for a project."""
        folder = self._folder(owner) / secrets.token_hex(6)
        folder.mkdir(mode=0o700, parents=True)
        return folder

    def remove(self, project: Project) -> None:
        """Remove a project with all of its files. Raises BadInput for a request on disk, which is not the desk's."""
        if project.name == GIVEN:
            raise BadInput(
                "a request on disk is not removed here",
                where=project.path.name,
                expected="a request whose files were uploaded",
                got="a file that was named on the command line",
                fix="remove it yourself",
            )
        shutil.rmtree(project.path.parent)

    def _folder(self, owner: str) -> Path:
        """Folder of an owner, whose login may be no file name."""
        return self.workspace.private / "studio" / hashlib.sha256(owner.casefold().encode()).hexdigest()[:16]

    def _project(self, folder: Path) -> Project:
        return Project(folder.name, folder / REQUEST_FILE, folder / ".runs", self._policies, self.roots)

    def _given(self) -> Project | None:
        if self.given is None:
            return None
        own = hashlib.sha256(str(self.given).encode()).hexdigest()[:16]
        return Project(
            GIVEN, self.given, self.workspace.private / "studio" / f"{GIVEN}-{own}", self._policies, self.roots
        )

    @property
    def _policies(self) -> PolicyShelf:
        return PolicyShelf(self.workspace.root)


def title_of(project: Project) -> str:
    """Title of a project's request; the file of its data where it has none."""
    read = project.read()
    data = read.value(("dataset", "path"))
    return str(read.value(("title",)) or (f"Draft for {data}" if isinstance(data, str) else project.path.name))
