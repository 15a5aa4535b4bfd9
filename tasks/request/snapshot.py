"""A private copy of every input of a run, named by hash: what a stage reads is what the release is named by.

Files that somebody writes to meanwhile, or exchanges, are neither read again nor missed. The copies are as private as
the run's folder, and go with it.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tasks.core.errors import BadInput, StageFailed
from tasks.core.files import file_sha256
from tasks.request.load import LoadedRequest, request_of_bytes

_INDEX, _REQUEST = "inputs.json", "request.yaml"


def named_files(loaded: LoadedRequest) -> Iterator[tuple[str, str]]:
    """Every file that a request names: its place in the document, and the path as written there."""
    request = loaded.request
    yield "dataset.path", request.dataset.path
    yield "population.path", request.population.path
    for name, attribute in request.attributes.items():
        if attribute.hierarchy is not None and attribute.hierarchy.file is not None:
            yield f"attributes.{name}.hierarchy.file", attribute.hierarchy.file
    if request.external_data is not None:
        yield "external_data.path", request.external_data.path


@dataclass(frozen=True)
class SnapshotRequest(LoadedRequest):
    """A request whose files are those of a snapshot."""

    files: Mapping[str, Path] = field(default_factory=dict)
    """Private copy of each named file, by its place in the document; the folder's name is the copy's SHA-256."""

    def resolve(self, relative: str, name: str) -> Path:  # noqa: ARG002
        """The private copy of a file that the request names.

        Raises
        ------
        StageFailed
            If the copy is missing or its bytes are not those that the release is named by.
        """
        path = self.files.get(name)
        if path is None or not path.is_file() or file_sha256(path) != path.parent.name:
            raise StageFailed(
                "the private copy of an input is missing or was changed",
                where=name,
                expected="the bytes that the release is named by",
                got="no file" if path is None or not path.is_file() else "different bytes",
                fix="nothing was released; run the release again",
            )
        return path


def take_snapshot(loaded: LoadedRequest, hashes: Mapping[str, str], folder: Path) -> None:
    """Copy a request and every file that it names.

    Parameters
    ----------
    loaded : LoadedRequest
    hashes : mapping of str to str
        SHA-256 of each named file, by its place in the document: what the release is named by.
    folder : Path
        Private folder of the snapshot; made if absent. Copies that an interrupted run has left are used again.

    Raises
    ------
    BadInput
        If a file is not what the release is named by any more.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / _REQUEST).write_bytes(loaded.content)
    index = {}
    for name, relative in named_files(loaded):
        source = loaded.resolve(relative, name)
        copy = folder / hashes[name] / source.name
        if not (copy.is_file() and file_sha256(copy) == hashes[name]):
            copy.parent.mkdir(mode=0o700, exist_ok=True)
            shutil.copyfile(source, copy)
            if file_sha256(copy) != hashes[name]:
                copy.unlink()
                raise BadInput(
                    f"{name} was changed while the gate was at work",
                    where=str(loaded.path),
                    expected="the bytes that the release is named by",
                    got="different bytes",
                    fix="wait until nothing writes to these files, then run the command again",
                )
        index[name] = str(copy.relative_to(folder))
    document = {"path": str(loaded.path), "sha256": loaded.sha256, "files": index}
    (folder / _INDEX).write_text(json.dumps(document))


def open_snapshot(folder: Path) -> SnapshotRequest:
    """The request of a snapshot; its files are the private copies.

    Raises
    ------
    StageFailed
        If the snapshot is damaged.
    """
    try:
        document = json.loads((folder / _INDEX).read_bytes())
        content = (folder / _REQUEST).read_bytes()
        files = {name: folder / place for name, place in document["files"].items()}
        intact = hashlib.sha256(content).hexdigest() == document["sha256"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        intact = False
    if not intact:
        raise StageFailed(
            "the private copy of the request is missing or was changed",
            where=_REQUEST,
            expected="the bytes that the release is named by",
            got="no readable copy, or different bytes",
            fix="nothing was released; run the release again",
        )
    return SnapshotRequest(**vars(request_of_bytes(content, Path(document["path"]))), files=files)
