"""Facts of released free text: replacements, remaining identifiers, and the scanner's performance."""

from pydantic import Field

from tasks.core.fact import Fact, Interval


class TextColumnFact(Fact):
    """One column of text as it leaves."""

    column: str
    language: str
    records: int = Field(description="Records that have a text.")
    replaced: dict[str, int] = Field(description="Replacements by kind.")
    residual: int = Field(description="Suspicious words that remain.")
    values_found: int = Field(description="Values of identifiers and quasi-identifiers that the texts had.")
    values_left: int = Field(description="Values that the released texts still have; 0, or nothing is released.")


class ScannerFact(Fact):
    """Performance of the scanner for one kind of identifier in the measured notes."""

    kind: str
    planted: int
    found: int = Field(description="Planted identifiers of which no part remains.")
    recall: Interval | None = Field(description="Wilson interval of found over planted; None where none are planted.")
    replaced: int = Field(description="Replacements by the kind.")
    rightly: int = Field(description="Replacements that have a part of an identifier.")
    precision: Interval | None = Field(description="Wilson interval of rightly over replaced; None without any.")


class TextFact(Fact):
    """The columns of text of a file, the same in every copy, and the scanner's recall."""

    columns: tuple[TextColumnFact, ...]
    notes: int = Field(description="Notes that the scanner is measured on.")
    scanner: tuple[ScannerFact, ...]

    @property
    def missed(self) -> float:
        """1 − the lower end of the recall of the worst kind; 0 without text."""
        return max((1 - one.recall.low for one in self.scanner if one.recall is not None), default=0.0)

    @property
    def residual(self) -> float:
        """Suspicious words for each record with a text, of the worst column; 0 without text."""
        return max((one.residual / max(one.records, 1) for one in self.columns), default=0.0)
