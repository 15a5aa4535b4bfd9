"""Searching everything that a run leaves behind for a mark: every file, in every form that it could hide in."""

import base64
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pikepdf

_RANGE = re.compile(rb"<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>")
_CHARACTER = re.compile(rb"<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>")


def forms(mark: str) -> tuple[bytes, ...]:
    """A mark as bytes, in lower case: as text, UTF-16, hexadecimal, and within Base64 at each of its three offsets."""
    plain = mark.encode()
    encoded = []
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + plain).rstrip(b"=")
        encoded.append(text[[0, 2, 3][offset] : len(text) - 1])
    return tuple(form.lower() for form in (plain, mark.encode("utf-16-le"), plain.hex().encode(), *encoded))


def holds(content: bytes, mark: str) -> bool:
    """Whether some bytes hold the mark, in any case of letters."""
    low = content.lower()
    return any(form in low for form in forms(mark))


def files_holding(folder: Path, mark: str) -> list[str]:
    """Every file below a folder that holds the mark, in its name or content; PDFs are searched as they are read."""
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if holds(name.encode(), mark) or (path.is_file() and any(holds(part, mark) for part in _readable(path))):
            found.append(name)
    return found


def files_holding_each(folder: Path, marks: Iterable[str]) -> dict[str, list[str]]:
    """The same for several marks; every file is opened once."""
    found: dict[str, list[str]] = {mark: [] for mark in marks}
    wanted = {mark: forms(mark) for mark in found}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        parts = [name.encode().lower(), *(part.lower() for part in (_readable(path) if path.is_file() else ()))]
        for mark, sought in wanted.items():
            if any(form in part for part in parts for form in sought):
                found[mark].append(name)
    return found


def _readable(path: Path) -> Iterator[bytes]:
    content = path.read_bytes()
    yield content
    if content.startswith(b"%PDF"):
        yield from pdf_parts(content)


def pdf_parts(content: bytes) -> Iterator[bytes]:
    """Every decompressed stream, every string and the text of every page of a PDF."""
    with pikepdf.open(io.BytesIO(content)) as pdf:
        for thing in pdf.objects:
            if isinstance(thing, pikepdf.Stream):
                yield thing.read_bytes()
            yield from _strings(thing)
        for page in pdf.pages:
            yield page_text(page).encode()


def _strings(thing: pikepdf.Object) -> Iterator[bytes]:
    if isinstance(thing, pikepdf.String):
        yield str(thing).encode()
    elif isinstance(thing, pikepdf.Array):
        for item in thing:
            yield from _strings(item) if not getattr(item, "is_indirect", False) else ()
    elif isinstance(thing, pikepdf.Dictionary | pikepdf.Stream):
        for item in thing.values():
            yield from _strings(item) if not getattr(item, "is_indirect", False) else ()


def page_text(page: pikepdf.Page) -> str:
    """The characters that a page shows, spaces left out, by the fonts' own tables."""
    fonts = {name: _characters(font) for name, font in page.Resources.get("/Font", pikepdf.Dictionary()).items()}
    shown, known = [], {}
    for operands, operator in pikepdf.parse_content_stream(page):
        if str(operator) == "Tf":
            known = fonts.get(str(operands[0]), {})
        elif str(operator) in {"Tj", "TJ"}:
            parts = operands[0] if str(operator) == "TJ" else operands
            codes = b"".join(bytes(part) for part in parts if isinstance(part, pikepdf.String))
            shown += [known.get(int.from_bytes(codes[at : at + 2]), "") for at in range(0, len(codes), 2)]
    return "".join(shown).replace(" ", "").replace("\u00a0", "")


def _characters(font: pikepdf.Object) -> dict[int, str]:
    table: dict[int, str] = {}
    text = font.ToUnicode.read_bytes() if "/ToUnicode" in font else b""
    for block in re.findall(rb"beginbfchar(.*?)endbfchar", text, re.DOTALL):
        table |= {int(code, 16): _unicode(target) for code, target in _CHARACTER.findall(block)}
    for block in re.findall(rb"beginbfrange(.*?)endbfrange", text, re.DOTALL):
        for first, last, target in _RANGE.findall(block):
            start = int(first, 16)
            for code in range(start, int(last, 16) + 1):
                table[code] = chr(int(target, 16) + code - start)
    return table


def _unicode(digits: bytes) -> str:
    return bytes.fromhex(digits.decode()).decode("utf-16-be")
