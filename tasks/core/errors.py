"""The errors of the gate, by exit code.

Every message says what is wrong, where (a file, a path in a document, a column or row positions), what was expected,
what was found and what to do; none carries a data value.
"""

import copyreg
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_SHOWN_POSITIONS, _SHOWN_PROBLEMS = 5, 10
_LABELS = {"what": "", "where": "where: ", "expected": "expected: ", "got": "got: ", "fix": "to do: "}


class ReleasegateError(Exception):
    """Base of all errors that a person at the terminal reads; no part of the message carries a data value."""

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", expected: str = "", got: str = "", fix: str = "") -> None:
        self.what, self.where, self.expected, self.got, self.fix = what, where, expected, got, fix
        super().__init__(what, where, expected, got, fix)

    def __reduce__(self) -> tuple[object, ...]:
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]

    def fields(self) -> dict[str, str]:
        """The parts of the message that are not empty, in reading order."""
        return {name: text for name in _LABELS if (text := getattr(self, name))}

    def reason(self) -> dict[str, str]:
        """The message in full, by its parts, for a place that keeps them."""
        return self.fields()

    def __str__(self) -> str:
        return "\n  ".join(self._labelled())

    def in_one_line(self) -> str:
        """The message for a place that keeps no line breaks.

        >>> StageFailed("no release exists", expected="30 people", got="12", fix="count more people").in_one_line()
        'no release exists; expected: 30 people; got: 12; to do: count more people'
        """
        return "; ".join(self._labelled())

    def _labelled(self) -> list[str]:
        return [_LABELS[name] + text for name, text in self.fields().items()]


class BadInput(ReleasegateError):
    """The request or the data cannot be used; nothing is written but a ledger entry."""

    exit_code = 2


@dataclass(frozen=True)
class RequestProblem:
    """One mistake in a document."""

    what: str
    path: str
    line: int
    column: int
    expected: str
    got: str
    fix: str

    @property
    def place(self) -> str:
        """Path in the document with line and column, both counted from 1."""
        return f"{self.path or 'the document'} (line {self.line}, column {self.column})"


class RequestError(BadInput):
    """The request document is not readable or not valid.

    ``problems`` holds the mistakes in the order of the document, and ``more`` is how many it has beside them; it is
    empty where the document cannot be read.
    """

    def __init__(self, what: str, *, problems: tuple[RequestProblem, ...] = (), more: int = 0, **parts: str) -> None:
        super().__init__(what, **parts)
        self.problems, self.more = problems, more

    def reason(self) -> dict[str, str]:
        """The message in full; several mistakes as one numbered text, which quotes nothing of the document."""
        return self.fields() | ({"problems": "\n".join(self._numbered(quote=False))} if len(self.problems) > 1 else {})

    def __str__(self) -> str:
        if len(self.problems) < 2:
            return super().__str__()
        return "\n".join([self.what, f"  where: {self.where}", *(f"  {line}" for line in self._numbered())])

    def _numbered(self, *, quote: bool = True) -> Iterator[str]:
        for number, problem in enumerate(self.problems[:_SHOWN_PROBLEMS], start=1):
            yield f"{number}. {problem.place}: {problem.what}"
            got = problem.got if quote else ""
            labelled = (("expected", problem.expected), ("got", got), ("to do", problem.fix))
            yield from (f"   {label}: {text}" for label, text in labelled if text)
        if (rest := len(self.problems) - _SHOWN_PROBLEMS + self.more) > 0:
            yield f"and {rest:,} more"


class DataError(BadInput):
    """The microdata file is not readable or does not match its request."""


class HierarchyError(BadInput):
    """A generalization hierarchy is not a tree over its domain."""


class PopulationError(BadInput):
    """The population table is not readable or does not cover the data."""


class ParameterError(BadInput, ValueError):
    """A parameter of a method is outside its range."""


class WorkspaceError(BadInput):
    """A path is outside the workspace, or cannot be written."""


class Outage(WorkspaceError):
    """A server that the gate depends on does not answer; the same call may succeed later.

    ``server`` names it: the ledger's database, the Dask cluster or the Prefect server.
    """

    def __init__(self, what: str, *, server: str = "", **parts: str) -> None:
        super().__init__(what, **parts)
        self.server = server


class StageFailed(ReleasegateError):
    """A stage could not finish; the release is blocked."""

    exit_code = 3


class StageCrashed(StageFailed):
    """A stage ran out of memory or met a fault of the program; nothing is decided, and the run may be repeated."""


class RequestCancelled(StageFailed):
    """A person has cancelled the request; nothing is decided.

    ``person`` is who, ``login`` theirs, as entries of the ledger name actors, and ``said`` the reason they gave.
    """

    def __init__(self, what: str, *, person: str = "", login: str = "", said: str = "", **parts: str) -> None:
        super().__init__(what, **parts)
        self.person, self.login, self.said = person, login, said

    def reason(self) -> dict[str, str]:
        """The message in full, with who has cancelled it and why."""
        return self.fields() | {"by": self.person, "reason": self.said}


class SignatureRefused(ReleasegateError):
    """A PDF is not signed, not as it was signed, or not by somebody who is trusted."""

    exit_code = 3


class TamperingFound(ReleasegateError):
    """Stored bytes or ledger rows differ from what was recorded."""

    exit_code = 3


@contextmanager
def raised_as(kind: type[BadInput]) -> Iterator[None]:
    """Raise a ``DataError`` of the block as another kind of bad input: what was read is not the microdata."""
    try:
        yield
    except DataError as error:
        raise kind(**error.fields()) from None


@contextmanager
def system_refusal(what: str, *, where: str, expected: str, fix: str) -> Iterator[None]:
    """Raise an ``OSError`` of the block as a ``WorkspaceError`` with the system's reason, without its file names."""
    try:
        yield
    except OSError as error:
        got = error.strerror or "a refusal by the system"
        raise WorkspaceError(what, where=where, expected=expected, got=got, fix=fix) from None


def unreadable_intermediate(name: str, writer: str, error: Exception) -> StageFailed:
    """The error for a missing or damaged file between two stages; names its kind of fault only."""
    return StageFailed(
        "an intermediate file cannot be read",
        where=name,
        expected=f"the file that the {writer} wrote",
        got=type(error).__name__,
        fix="run the release again",
    )


def row_positions(positions: Iterable[int]) -> str:
    """Name rows by position, counted from 1 at the first record, without showing any value.

    >>> row_positions([0, 4, 9])
    'rows 1, 5, 10'
    >>> row_positions(range(7))
    'rows 1, 2, 3, 4, 5 and 2 more'
    """
    rows = [str(int(position) + 1) for position in positions]
    rest = len(rows) - _SHOWN_POSITIONS
    noun = "row" if len(rows) == 1 else "rows"
    return f"{noun} {', '.join(rows[:_SHOWN_POSITIONS])}" + (f" and {rest} more" if rest > 0 else "")


def column_positions(places: Iterable[int]) -> str:
    """Name columns by place, counted from 1, where their names must not be shown.

    >>> column_positions([4]), column_positions([1, 3])
    ('column 4', 'columns 1, 3')
    """
    shown = [str(place) for place in places]
    return f"{'column' if len(shown) == 1 else 'columns'} {', '.join(shown)}"
