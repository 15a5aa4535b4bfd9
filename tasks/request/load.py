"""Reading a release request and the files it names, or saying everything that is wrong with it at once."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tasks.errors import Problem, RequestError, WorkspaceError
from tasks.request.document import MAXIMUM_BYTES, NOTHING, Document, Mistake, NotYaml, read_document
from tasks.request.explain import explained
from tasks.request.model import ReleaseRequest
from tasks.request.places import printable, written_path
from tasks.request.public_key import private_key_at


@dataclass(frozen=True)
class LoadedRequest:
    """A valid request, with the file it was read from."""

    request: ReleaseRequest
    path: Path
    """The document, as it was named."""
    base: Path
    """Folder of the document, absolute and free of links; paths in the request start here."""
    sha256: str
    """SHA-256 of the document's bytes."""
    roots: tuple[Path, ...] = ()
    """Further folders that the request may name files in."""
    document: Document = field(default=NOTHING, repr=False, compare=False)
    """What was read, with the line and column of every value."""

    def place(self, name: str) -> str:
        """Where a part of the request stands: file, line and column where known, path in the document."""
        positions = self.document.positions.items()
        known = (position for location, position in positions if written_path(location, self.document.data) == name)
        line_and_column = "".join(f":{number}" for number in next(known, ()))
        return f"{self.path}{line_and_column}, {name}"

    def resolve(self, relative: str, name: str) -> Path:
        """The file that the request names, made absolute.

        Parameters
        ----------
        relative : str
            The path as the request has it, relative to the request's folder or, where that holds no such file, to the
            first of the roots that does.
        name : str
            Path in the document, such as ``dataset.path``; for messages.

        Returns
        -------
        Path
            An existing, readable file inside the request's folder or one of the roots, all links followed.

        Raises
        ------
        WorkspaceError
            If the path leads elsewhere, or to no readable file.
        """
        shown = f"“{printable(relative)}”"
        allowed = (self.base, *self.roots)
        try:
            places = [(folder / relative).resolve() for folder in allowed]
        except (OSError, RuntimeError, ValueError):
            raise self._unusable("not a usable path", name, "a path without loops", shown, "correct it") from None
        files = [one for one in places if _may_be_file(one)]
        target = next((one for one in files if _is_within(one, allowed)), (files or places)[0])
        if not _is_within(target, allowed):
            raise self._unusable(
                "a path outside the workspace",
                name,
                "a file in the request's folder or below it, links followed",
                shown,
                "move the file there, or name its folder with --root",
            )
        try:
            if not target.is_file():
                got = "a folder or a device" if target.exists() else f"no such file: {shown}"
                raise self._unusable("the file cannot be used", name, "an existing file", got, "correct the path")
            with target.open("rb"):
                return target
        except (OSError, ValueError) as error:
            raise self._unusable(
                "the file cannot be read", name, "a readable file", type(error).__name__, "check its permissions"
            ) from None

    def _unusable(self, what: str, name: str, expected: str, got: str, fix: str) -> WorkspaceError:
        return WorkspaceError(what, where=self.place(name), expected=expected, got=got, fix=fix)


def _may_be_file(path: Path) -> bool:
    """Whether a file is there; also where the system does not let us look, so that no other is taken in its place."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return True


def _is_within(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def load_request(path: Path, roots: Sequence[Path] = ()) -> LoadedRequest:
    """Read and check a release request.

    An agreement that has expired is not an error here: it is for a gate to block.

    Parameters
    ----------
    path : Path
        YAML 1.2 document in UTF-8, at most 1 MB.
    roots : sequence of Path
        Folders, beside the request's own, in which the files it names may lie.

    Raises
    ------
    RequestError
        If the document cannot be read or is not a valid request. Every mistake found is among its ``problems``;
        rules that relate several keys are checked once those keys are right by themselves.

    Side effects
    ------------
    Reads the document; the files it names are not touched until ``resolve``.
    """
    return request_of_bytes(_read(path), path, roots)


def request_of_bytes(content: bytes, path: Path, roots: Sequence[Path] = ()) -> LoadedRequest:
    """A release request from its bytes, as if they were read from a path; otherwise as ``load_request``."""
    text = _decoded(content, path)
    _refuse_private_key(text, path)
    try:
        document = read_document(text)
    except NotYaml as unreadable:
        raise _request_error(path, NOTHING, [unreadable.mistake]) from None
    request = _validated(path, document)
    return LoadedRequest(
        request=request,
        path=path,
        base=path.parent.resolve(),
        sha256=hashlib.sha256(content).hexdigest(),
        roots=tuple(root.resolve() for root in roots),
        document=document,
    )


def _read(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise RequestError(
                "not a file", where=str(path), expected="a YAML document", got="a folder or a device", fix="name a file"
            )
        with path.open("rb") as stream:
            content = stream.read(MAXIMUM_BYTES + 1)
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        raise RequestError(
            "the request cannot be read",
            where=str(path),
            expected="a readable YAML document",
            got="no such file" if missing else type(error).__name__,
            fix="correct the path" if missing else "check the path and its permissions",
        ) from None
    if len(content) > MAXIMUM_BYTES:
        raise RequestError(
            "the request is too large",
            where=str(path),
            expected=f"at most {MAXIMUM_BYTES:,} bytes",
            got="more",
            fix="name the data by dataset.path, and long hierarchies by hierarchy.file",
        )
    return content


def _decoded(content: bytes, path: Path) -> str:
    try:
        return content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise RequestError(
            "the request is not text in UTF-8",
            where=f"{path}:{line}:{column}",
            expected="UTF-8",
            got="UTF-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "bytes of another encoding",
            fix="save the document as UTF-8",
        ) from None


def _refuse_private_key(text: str, path: Path) -> None:
    """Stop before anything of the document could be repeated in a message."""
    start = private_key_at(text)
    if start is not None:
        line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
        raise RequestError(
            "the request holds a private key",
            where=f"{path}:{line}:{column}",
            expected="public keys alone: age1…, ssh-ed25519 … or ssh-rsa …",
            got="a key that is for its holder alone; it is not repeated here",
            fix="it is no secret any more: remove it from the file and every copy, let its holder make a new pair, and "
            "name the public half of that",
        )


def _validated(path: Path, document: Document) -> ReleaseRequest:
    stranger = _not_a_request(document.data)
    if stranger is not None:
        raise _request_error(path, document, [stranger])
    mistakes = list(document.mistakes)
    request = None
    try:
        request = ReleaseRequest.model_validate_json(json.dumps(document.data), strict=True)
    except ValidationError as error:
        known = {mistake.location for mistake in mistakes}
        found = (explained(details, document.data) for details in error.errors(include_url=False, include_input=False))
        mistakes += [mistake for mistake in found if mistake is not None and mistake.location not in known]
    if mistakes or request is None:
        raise _request_error(path, document, mistakes)
    return request


def _not_a_request(data: Any) -> Mistake | None:
    """Why a document is nothing like a request, so that no key or value of it should be repeated."""
    if data is None:
        return Mistake((), "the request is empty", "a release request", "nothing", "draft one with releasegate init")
    if not isinstance(data, dict) or not data.keys() & ReleaseRequest.model_fields.keys():
        got = "a mapping without any of its keys" if isinstance(data, dict) else "text, a number or a list"
        names = ", ".join(name for name, part in ReleaseRequest.model_fields.items() if part.is_required())
        return Mistake((), "not a release request", f"a mapping with {names}", got, "name the request, not the data")
    return None


def _request_error(path: Path, document: Document, mistakes: list[Mistake]) -> RequestError:
    problems = [_problem(mistake, document) for mistake in mistakes]
    problems.sort(key=lambda problem: (problem.line, problem.column))
    if len(problems) == 1:
        only = problems[0]
        return RequestError(
            only.what,
            where=f"{path}:{only.line}:{only.column}" + (f", {only.path}" if only.path else ""),
            expected=only.expected,
            got=only.got,
            fix=only.fix,
            problems=(only,),
        )
    return RequestError(
        f"the request has {len(problems)} mistakes",
        where=str(path),
        got="; ".join(f"{problem.place}: {problem.what}" for problem in problems),
        fix="correct each of them",
        problems=tuple(problems),
    )


def _problem(mistake: Mistake, document: Document) -> Problem:
    line, column = document.position(mistake)
    return Problem(
        what=mistake.what,
        path=written_path(mistake.location, document.data),
        line=line,
        column=column,
        expected=mistake.expected,
        got=mistake.got,
        fix=mistake.fix,
    )
