"""A list in a file of the private folder: mode 0600, replaced as a whole, changed by one process at a time."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel

from flows.workspace.locking import locked
from tasks.core.errors import WorkspaceError
from tasks.core.files import write_whole
from tasks.core.guard import guarded

_WAIT = 10.0

Item = TypeVar("Item", bound=BaseModel)


@dataclass(frozen=True)
class PrivateList(Generic[Item]):
    """The items of a file, each by a name of its own."""

    folder: Path
    kind: type[Item]
    named: str
    """Field with the name of an item."""
    noun: str
    """The items in messages; also names the file and its only list."""
    otherwise: str
    """Actions that fail while the file cannot be trusted."""

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / f"{self.noun}.json"

    @property
    def _schema(self) -> str:
        return f"releasegate/{self.noun}/1"

    def read(self) -> dict[str, Item]:
        """The items by name; none where there is no file.

        Raises WorkspaceError if the file cannot be read, is of another form, or others may read it.
        """
        try:
            with self.path.open("rb") as stream:
                mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
                document = json.loads(stream.read())
            items = list(map(self.kind.model_validate, document.pop(self.noun)))
            if mode & 0o077:
                got = f"permissions {mode:04o}"
            elif document != {"schema_version": self._schema}:
                got = "a file of another form"
            else:
                return {attrgetter(self.named)(one): one for one in items}
        except FileNotFoundError:
            return {}
        except OSError as error:
            got = error.strerror or "a refusal by the system"
        except (AttributeError, KeyError, TypeError, ValueError):  # a ValidationError is a ValueError
            got = "a file of another form"
        raise WorkspaceError(
            f"the file of {self.noun} cannot be trusted",
            where=str(self.path),
            expected="the file that releasegate wrote, readable by its owner only",
            got=got,
            fix=f"correct its permissions, or restore it from a backup; until then {self.otherwise}",
        )

    @contextmanager
    def changing(self) -> Iterator[dict[str, Item]]:
        """The items by name, written back at the end of the block."""
        refused = WorkspaceError(
            f"the {self.noun} are being changed by another process",
            where=str(self.path),
            expected="one change at a time",
            fix="wait until it ends, and try again",
        )
        wait = f"waiting for another change of the {self.noun}"
        with guarded(self.noun), locked(self.path.with_suffix(".lock"), refused, wait_seconds=_WAIT, waiting=wait):
            items = self.read()
            yield items
            listed = [one.model_dump(mode="json", by_alias=True) for one in items.values()]
            document = {"schema_version": self._schema, self.noun: listed}
            write_whole(self.path, json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n")
