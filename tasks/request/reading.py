"""Reading a document that people write: its bytes, its text, its values; every mistake in one error."""

import json
from operator import itemgetter
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tasks.core.errors import Problem, RequestError
from tasks.request.document import (
    MAXIMUM_BYTES,
    NOTHING,
    Document,
    Mistake,
    NotYaml,
    Position,
    read_document,
)
from tasks.request.explain import explained, follows_from_others, placed
from tasks.request.form import Form, Model

_MOST_SHOWN = 100
"""Mistakes that are explained, the first of the document."""


def read_bytes(path: Path, form: Form[Any]) -> bytes:
    """The bytes of a document.

    Raises
    ------
    RequestError
        If it cannot be read, or is larger than 1 MB.
    """
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
            f"{form.name} cannot be read",
            where=str(path),
            expected="a readable YAML document",
            got="no such file" if missing else type(error).__name__,
            fix="correct the path" if missing else "check the path and its permissions",
        ) from None
    if len(content) > MAXIMUM_BYTES:
        raise RequestError(
            f"{form.name} is too large",
            where=str(path),
            expected=f"at most {MAXIMUM_BYTES:,} bytes",
            got="more bytes",
            fix=form.shorten,
        )
    return content


def decoded(content: bytes, path: Path, form: Form[Any]) -> str:
    """The text of a document.

    Raises
    ------
    RequestError
        If it is not UTF-8.
    """
    try:
        return content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise RequestError(
            f"{form.name} is not text in UTF-8",
            where=f"{path}:{line}:{column}",
            expected="UTF-8",
            got="UTF-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "bytes of a different encoding",
            fix="save the document as UTF-8",
        ) from None


def checked(text: str, path: Path, form: Form[Model]) -> tuple[Model, Document]:
    """The document as an instance of its form's model, and with the positions of its values.

    Raises
    ------
    RequestError
        If it is not YAML or not valid. The first 100 mistakes found are among its ``problems``; rules that relate
        several keys are checked once those keys are right by themselves.
    """
    try:
        document = read_document(text)
    except NotYaml as unreadable:
        raise _error(path, form, NOTHING, [unreadable.mistake], 1) from None
    foreign = _foreign(document.data, form)
    if foreign is not None:
        raise _error(path, form, document, [foreign], 1)
    try:
        model = form.model.model_validate_json(json.dumps(document.data), strict=True)
    except ValidationError as error:
        raise _refused(path, form, document, error) from None
    if document.mistakes:
        raise _error(path, form, document, list(document.mistakes[:_MOST_SHOWN]), len(document.mistakes))
    return model, document


def _refused(path: Path, form: Form[Any], document: Document, error: ValidationError) -> RequestError:
    """The error of all mistakes, of which the first are explained; pydantic's, where several are of one place, once."""
    found: list[tuple[Position, Mistake | ErrorDetails]] = [
        (document.position(mistake), mistake) for mistake in document.mistakes
    ]
    places = {mistake.location for mistake in document.mistakes}
    for details in error.errors(include_url=False, include_input=False):
        location = placed(details, document)
        if location not in places and not follows_from_others(details, document.data):
            places.add(location)
            found.append((document.position_of(location), details))
    found.sort(key=itemgetter(0))
    mistakes = [one if isinstance(one, Mistake) else explained(one, form, document) for _, one in found[:_MOST_SHOWN]]
    return _error(path, form, document, mistakes, len(found))


def _foreign(data: Any, form: Form[Any]) -> Mistake | None:
    """The mistake of a document that is nothing like the form, so that no key or value of it should be repeated."""
    if data is None:
        return Mistake((), f"{form.name} is empty", form.kind, "nothing", form.start)
    if not isinstance(data, dict) or not data.keys() & form.model.model_fields.keys():
        got = "a mapping without any of its keys" if isinstance(data, dict) else "text, a number or a list"
        names = ", ".join(name for name, part in form.model.model_fields.items() if part.is_required())
        return Mistake((), f"not {form.kind}", f"a mapping with {names}", got, form.start)
    return None


def _error(path: Path, form: Form[Any], document: Document, mistakes: list[Mistake], count: int) -> RequestError:
    problems = [_problem(mistake, form, document) for mistake in mistakes]
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
    part = f", of which the first {len(problems)} are shown" if count > len(problems) else ""
    return RequestError(
        f"{form.name} has {count} mistakes{part}",
        where=str(path),
        got="; ".join(f"{problem.place}: {problem.what}" for problem in problems),
        fix="correct each of them",
        problems=tuple(problems),
    )


def _problem(mistake: Mistake, form: Form[Any], document: Document) -> Problem:
    line, column = document.position(mistake)
    return Problem(
        what=mistake.what,
        path=form.written_path(mistake.location, document.data),
        line=line,
        column=column,
        expected=mistake.expected,
        got=mistake.got,
        fix=mistake.fix,
    )
