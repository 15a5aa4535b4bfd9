"""The outputs of a case as text: what commands print, and every file that they leave for people to read."""

import hashlib
import io
import json
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import unified_diff
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow.parquet as pq

from tests.golden.doors import START, Door

REQUESTS = Path(__file__).parent / "requests"
TERMINAL = "terminal.txt"
AUDITS = "audits"
_LEAST = 12
"""Digits of the shortest form in which a document shows a hash."""
_HASH = re.compile(rf"(?<![0-9a-z])[0-9a-f]{{{_LEAST},64}}(?![0-9a-z])")
_BREAK = re.compile(r"(?<=[0-9a-f])<wbr>(?=[0-9a-f])")
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
_INNERMOST = re.compile(r"\[[^\[\]{}]+\]|\{[^\[\]{}]+\}")
_LINE = 160
_FAULT = {1, 2}
Outputs = dict[str, str]


def outputs_of(commands: tuple[str, ...], door: Door, folder: Path) -> Outputs:
    """Run the commands of a case, and take what they leave.

    Parameters
    ----------
    commands : tuple of str
    door : Door
    folder : Path
        Not there yet; becomes the current folder for as long as the commands run.
    """
    shutil.copytree(REQUESTS, folder)
    (folder / AUDITS).mkdir()
    door.now = START
    made = Made()
    lines = []
    with chdir(folder):
        for command in commands:
            given = shlex.split(made.filled(command, door))
            if given[0] == "later":
                door.now = START + timedelta(days=int(given[1]))
                lines.append(f"$ later: {door.now:%Y-%m-%d}\n")
                continue
            if given[0] == "release":
                request = Path(given[1])
                request.write_text(made.filled(request.read_text(encoding="utf-8"), door), encoding="utf-8")
                made.add(request.stem, *door.release(request, Path("workspace")))
            told = door.command(*given)
            printed = told.out + (told.err if told.code in _FAULT else "")
            lines.append(f"$ releasegate {command}\n{_trimmed(printed)}[{told.code}]\n")
        files = {path: path.read_bytes() for path in _left(made)}
    places = {path: made.place(path) for path in files}
    by_hash: dict[str, str] = {}
    texts = {TERMINAL: "\n".join(lines)}
    for path, content in files.items():
        sha256 = hashlib.sha256(content).hexdigest()
        texts[places[path]] = f"the same as {by_hash[sha256]}\n" if sha256 in by_hash else _text(path, content)
        by_hash.setdefault(sha256, places[path])
    known = {sha256: f"<hash of {place}>" for sha256, place in by_hash.items()}
    known |= {release_id: f"<release {name}>" for name, (release_id, _) in made.bundles.items()}
    return _without_repetition({place: _plain(text, known, folder) for place, text in texts.items()})


@dataclass
class Made:
    """The releases of a case so far."""

    bundles: dict[str, tuple[str, Path]] = field(default_factory=dict)
    """Release id and bundle, by the name of the request, with marks behind it where it came to another release."""
    last: dict[str, tuple[str, Path]] = field(default_factory=dict)
    """The last one of each request."""

    def add(self, name: str, release_id: str, bundle: Path) -> None:
        """Take down a release."""
        self.last[name] = (release_id, bundle)
        if self.last[name] not in self.bundles.values():
            again = sum(other.rstrip("+") == name for other in self.bundles)
            self.bundles[name + "+" * again] = self.last[name]

    def filled(self, text: str, door: Door) -> str:
        """Text with ids and folders of releases in place of their names."""
        for name, (release_id, bundle) in self.last.items():
            text = text.replace(f"{{{name}}}", release_id).replace(f"{{{name}.bundle}}", str(bundle))
        return text.replace("{today}", f"{door.now:%Y-%m-%d}")

    def place(self, path: Path) -> str:
        """Where a file's text is kept: by the name of its request in place of the release's id."""
        place = str(path)
        for name, (release_id, bundle) in self.bundles.items():
            place = place.replace(str(bundle), name).replace(release_id[:_LEAST], name)
        return place.replace(".parquet", ".parquet.txt").replace(".pdf", ".html").replace(".age", "")


def _without_repetition(texts: Outputs) -> Outputs:
    """Of pages of one kind the first whole, the others by what differs from it: most of a page is the same in all."""
    first: dict[str, str] = {}
    found = {}
    for place, text in texts.items():
        path = PurePosixPath(place)
        if path.suffix != ".html" or first.setdefault(path.parent.name, place) == place:
            found[place] = text
            continue
        model = first[path.parent.name]
        lines = list(unified_diff(texts[model].split("\n"), text.split("\n"), lineterm="", n=0))[2:]
        lines = ["@@" if line.startswith("@@") else line for line in lines]
        found[place] = "\n".join([f"{model} with these changes", *lines, ""])
    return found


def _left(made: Made) -> Iterator[Path]:
    """Files in bundles, and in the folders that commands made here; nothing that is private to a workspace."""
    for folder in (*(bundle for _, bundle in made.bundles.values()), Path("reassessed"), Path(AUDITS)):
        yield from sorted(path for path in folder.rglob("*") if path.is_file())


def _trimmed(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _text(path: Path, content: bytes) -> str:
    if ".parquet" in path.name:
        table = pq.read_table(io.BytesIO(content[content.index(b"PAR1") :]))
        return f"{table.schema.remove_metadata()}\n{table.to_pandas().to_csv(index=False)}"
    if path.suffix == ".json":
        whole = json.dumps(_rounded(json.loads(content)), indent=1, ensure_ascii=False)
        return _INNERMOST.sub(_on_one_line, whole) + "\n"
    if path.suffix == ".pdf":
        return _STYLE.sub("", content.decode())
    return content.decode()


def _on_one_line(found: re.Match[str]) -> str:
    """A list or mapping that holds no other, on one line where it is short."""
    line = re.sub(r"\n *", " ", found[0])
    return f"{line[0]}{line[1:-1].strip()}{line[-1]}" if len(line) <= _LINE else found[0]


def _rounded(value: Any) -> Any:
    """Figures to ten digits: the last ones are the machine's."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return {key: _rounded(one) for key, one in value.items()} if isinstance(value, dict) else value


def _plain(text: str, known: Mapping[str, str], folder: Path) -> str:
    """Text without the folder that it was made in, and with names in place of the hashes of files beside it."""
    short = {sha256[:_LEAST]: (sha256, name) for sha256, name in known.items()}

    def name_of(found: re.Match[str]) -> str:
        sha256, name = short.get(found[0][:_LEAST], ("", ""))
        return name if sha256.startswith(found[0]) else found[0]

    return _HASH.sub(name_of, _BREAK.sub("", text)).replace(str(folder.resolve()), "<folder>")
