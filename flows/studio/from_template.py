"""A request begun from a template of the library: its terms, the file that was uploaded, and enrolled hierarchies."""

from collections.abc import Sequence
from pathlib import Path

from flows.library.texts import SUFFIXES, read_text
from flows.workspace.folders import Workspace
from flows.workspace.ledger import has_ledger, open_ledger
from tasks.core.errors import BadInput
from tasks.core.files import write_new
from tasks.ledger.enrolment import Directory, EnrolledText
from tasks.request.document import REQUEST_FILE, Location, read_document
from tasks.request.edit import edited


def templates(workspace: Workspace) -> tuple[EnrolledText, ...]:
    """Templates in force, by id and version."""
    if not has_ledger(workspace):
        return ()
    with open_ledger(workspace) as ledger:
        found = Directory.of(ledger).all(EnrolledText)
    return tuple(sorted((one for one in found if one.kind == "template"), key=lambda one: (one.id, one.version)))


def begin(workspace: Workspace, name: str, folder: Path, data: Sequence[Path], population: Path | None) -> None:
    """Write the request of a template, by ID/VERSION, to a folder that has the data, with the hierarchies it names.

    ``hierarchy.file: ID@VERSION.csv`` names a hierarchy of the library. Raises BadInput if no such template is in force
    or there are several data files; TamperingFound if a text is not the one that was enrolled.
    """
    text_id, _, version = name.partition("/")
    with open_ledger(workspace) as ledger:
        directory = Directory.of(ledger)
    template = directory.text("template", text_id, version)
    if template is None or len(data) != 1:
        raise BadInput(
            "the template cannot be used",
            expected="a template in force" if template is None else "one data file",
            got="another" if template is None else f"{len(data)} files",
            fix="choose a template of the list" if template is None else "upload one file, or begin without a template",
        )
    text = read_text(workspace, template).decode()
    document = read_document(text).data
    changes: dict[Location, object] = {("dataset", "path"): data[0].name}
    if population is not None:
        changes[("population", "path")] = population.name
    attributes = document.get("attributes") if isinstance(document, dict) else None
    for terms in attributes.values() if isinstance(attributes, dict) else ():
        source = terms.get("hierarchy") if isinstance(terms, dict) else None
        file = source.get("file") if isinstance(source, dict) else None
        tree = _hierarchy(directory, file) if isinstance(file, str) else None
        if tree is not None and not (folder / str(file)).exists():
            write_new(folder / str(file), read_text(workspace, tree))
    write_new(folder / REQUEST_FILE, edited(text, changes).encode())


def _hierarchy(directory: Directory, file: str) -> EnrolledText | None:
    """The hierarchy in force that a file name stands for; None where it stands for none."""
    stem = file.removesuffix(SUFFIXES["hierarchy"])
    text_id, _, version = stem.rpartition("@")
    return directory.text("hierarchy", text_id, version) if stem != file and "/" not in file else None
