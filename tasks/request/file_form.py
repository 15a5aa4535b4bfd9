"""The file of the microdata and its form: all that the bytes leave open is stated here, so that no reader guesses.

What a file's first bytes tell is not stated: whether it is Parquet, and whether it is compressed as gzip or zip.
"""

import re
from enum import StrEnum
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from tasks.request.part import RelativePath, RequestPart, Rule, Text, broken_rule

_PART_OF_DATE = re.compile("yyyy|mon|mm|dd")
_DATE_FORM = re.compile(r"(?:yyyy|mon|mm|dd)[-./ ]?(?:yyyy|mon|mm|dd)[-./ ]?(?:yyyy|mon|mm|dd)")


class FileFormat(StrEnum):
    """Program that a file is of, where it is neither CSV nor Parquet."""

    EXCEL = "excel"
    SAS = "sas"
    SAS_TRANSPORT = "sas-transport"
    STATA = "stata"
    SPSS = "spss"


def date_parts(form: str) -> tuple[str, ...]:
    """Parts of the form of a date in their order.

    >>> date_parts("dd.mm.yyyy"), date_parts("ddmonyyyy")
    (('dd', 'mm', 'yyyy'), ('dd', 'mon', 'yyyy'))
    """
    return tuple(_PART_OF_DATE.findall(form))


def _has_day_month_year(form: str) -> str:
    parts = [part.replace("mon", "mm") for part in date_parts(form)]
    if not _DATE_FORM.fullmatch(form) or sorted(parts) != ["dd", "mm", "yyyy"]:
        raise broken_rule(
            "dd, mm (or mon) and yyyy, each once, with “.”, “/”, “-”, a space or nothing between them",
            got="a different form",
            fix="write the form of the file's dates, such as dd.mm.yyyy, mm/dd/yyyy or ddmonyyyy",
        )
    return form


_DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\\t", "tabulator": "\\t", "pipe": "|", "space": " "}


def _is_no_word(delimiter: object) -> object:
    if isinstance(delimiter, str) and (mark := _DELIMITERS.get(delimiter.strip().lower())):
        raise broken_rule("the character itself", got="its name", fix=f'write "{mark}"')
    return delimiter


DateForm = Annotated[str, AfterValidator(_has_day_month_year)]
"""Form of the days of a column, such as ``dd.mm.yyyy``; ``mon`` is a month's English name in three letters."""


class FileForm(RequestPart):
    """A file of records, and how its bytes are read."""

    path: RelativePath = Field(
        description="CSV (also compressed: .gz, or .zip with one file), Parquet, or a file of “format”, relative to "
        "the request."
    )
    format: FileFormat | None = Field(
        default=None,
        description="Program of the file, which needs the extra “readers”: excel (.xlsx, .xlsm, .xls), sas "
        "(.sas7bdat), sas-transport (.xpt), stata (.dta), spss (.sav, .zsav). CSV and Parquet have none.",
    )
    delimiter: Annotated[str, BeforeValidator(_is_no_word), StringConstraints(min_length=1, max_length=1)] = Field(
        default=",", description="Character between the cells of a CSV file."
    )
    encoding: Text = Field(
        default="utf-8",
        description="Encoding of a CSV file, such as cp1252 or utf-16; of a SAS, Stata or SPSS file that misstates it.",
    )
    header: bool = Field(
        default=True,
        description="Whether the first line of a CSV file names its columns (an empty first name is row_names); else "
        "they are column_1, column_2, …",
    )
    member: Text | None = Field(default=None, description="File within a zip archive that holds several.")
    sheet: Text | None = Field(default=None, description="Sheet of an Excel workbook that has several.")
    decimal: Literal[".", ","] = Field(
        default=".", description="Decimal mark of the columns of type integer and number."
    )
    thousands: Literal["", ".", ",", " ", "'"] = Field(
        default="",
        description="Mark between groups of three digits, none where not given: a space or ' of any kind; commas also "
        "group as in India.",
    )
    dates: dict[Text, DateForm] = Field(
        default={},
        description="Form of a column's dates where not YYYY-MM-DD, such as dd.mm.yyyy, mm/dd/yyyy or ddmonyyyy; "
        "a time may follow.",
    )
    missing: tuple[str, ...] = Field(
        default=("",), description="Cells that mean “no value”; empty ones where not given."
    )

    rules: ClassVar[tuple[Rule["FileForm"], ...]] = (
        Rule(
            "decimal and thousands are two different marks",
            lambda one: one.decimal == one.thousands,
            "thousands",
            got="one mark for both",
            fix="state the marks that the file has",
        ),
        Rule(
            "only an Excel workbook has a sheet",
            lambda one: one.sheet is not None and one.format is not FileFormat.EXCEL,
            "sheet",
            got="a sheet of a file that has none",
            fix="state “format: excel”, or remove the sheet",
        ),
        Rule(
            "only CSV files have delimiter, header and member",
            lambda one: (
                next((name for name in ("delimiter", "header", "member") if name in one.model_fields_set), None)
                if one.format
                else None
            ),
            got="a term of CSV files beside “format”",
            fix="remove it, or “format”",
        ),
    )

    @property
    def is_plain(self) -> bool:
        """Whether numbers and dates stand in the file as they are read."""
        return self.decimal == "." and not self.thousands and not self.dates

    def stated(self, **terms: object) -> Self:
        """The form with other terms."""
        return self.model_validate({**self.model_dump(exclude_unset=True), **terms})
