"""The tables of an audit report as CSV files: every row and every field, for spreadsheets and scripts.

UTF-8, commas, a header, ISO 8601 in UTC; an empty cell is not recorded or does not apply. A range takes two columns,
``…_low`` and ``…_high``. An apostrophe precedes text that a spreadsheet would run as a formula, also text that begins
with apostrophes before such a character, as in the files that are released.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import get_args, get_origin

from pydantic.fields import FieldInfo

from reports.model import numbers
from tasks.audit.report import AuditReport, Contradiction, ExceptionRow, RecordRange, ShareRange
from tasks.core.fact import Fact

_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_KINDS: Mapping[str, type[Fact]] = {
    name: get_args(field.annotation)[0]
    for name, field in AuditReport.model_fields.items()
    if get_origin(field.annotation) is tuple and name != "intervals"
}
"""Kind of row of each table of the report."""


def csv_files(report: AuditReport) -> dict[str, bytes]:
    """Contents of the files by name; a table without rows has its header alone."""
    tables: dict[str, tuple[type[Fact], Sequence[Fact]]] = {
        name: (kind, getattr(report, name)) for name, kind in _KINDS.items()
    }
    tables["duty_exceptions"] = ExceptionRow, report.duties.exceptions
    tables["contradictions"] = Contradiction, report.chain.contradictions
    files = {f"{name}.csv": _written(_header(kind), map(_cells, rows)) for name, (kind, rows) in tables.items()}
    return files | {"summary.csv": _written(("item", "value"), _summary(report))}


def harmless(text: str) -> str:
    """A cell that no spreadsheet runs.

    >>> harmless("=1+1"), harmless("'=1"), harmless("DUA-7")
    ("'=1+1", "''=1", 'DUA-7')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def _summary(report: AuditReport) -> Iterator[tuple[str, ...]]:
    """Facts outside the tables: period, verification, counts."""
    for name, value in report:
        if name not in {*_KINDS, "intervals", "chain", "duties", "outcomes"}:
            yield name, _text(value)
    for outcome, count in report.outcomes.items():
        yield f"requests {outcome}", _text(count)
    chain = report.chain
    for name, value in chain:
        if name == "problem":
            problem = chain.problem
            yield "problem", _text(f"{problem.what}; {problem.expected}; {problem.got}" if problem else None)
            yield "broken_at", _text(problem.entry if problem else None)
        elif name == "other_events":
            yield name, _text(tuple(f"{kind}: {count}" for kind, count in chain.other_events.items()))
        elif name != "contradictions":
            yield name, _text(value)
    for name, value in report.duties:
        if name != "exceptions":
            yield name, _text(value)


def _header(kind: type[Fact]) -> tuple[str, ...]:
    names: list[str] = []
    for name, field in kind.model_fields.items():
        names += [f"{name}_low", f"{name}_high"] if _is_range(field) else [name]
    return tuple(names)


def _cells(row: Fact) -> tuple[str, ...]:
    cells: list[str] = []
    for (_, value), field in zip(row, type(row).model_fields.values(), strict=True):
        if _is_range(field):
            cells += ["", ""] if value is None else [_text(value.low), _text(value.high)]
        else:
            cells.append(_text(value))
    return tuple(cells)


def _is_range(field: FieldInfo) -> bool:
    return any(one in {RecordRange, ShareRange} for one in (field.annotation, *get_args(field.annotation)))


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | date):
        return numbers.utc(value).strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(value, datetime) else str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, tuple):
        return harmless("; ".join(str(one) for one in value))
    return harmless(str(value))


def _written(header: Sequence[str], rows: Iterable[tuple[str, ...]]) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(rows)
    return stream.getvalue().encode()
