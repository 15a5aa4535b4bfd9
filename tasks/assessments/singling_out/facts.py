"""Facts of singling out."""

from typing import Literal

from pydantic import Field

from tasks.core.fact import Fact


class SingledOutFact(Fact):
    """Records whose smallest minimal sample unique has a number of columns."""

    columns: int
    singled_out: int


class ColumnUniquesFact(Fact):
    """Part of one column in singling out records."""

    column: str
    score_share: float = Field(description="Share of all scores in MSUs that hold the column; these parts overlap.")
    singled_out: int = Field(description="Records that some MSU with the column singles out.")
    needed: int = Field(description="Records that nothing would single out if the column were withheld.")


class UniquenessFact(Fact):
    """Records that are unique by one set of columns, in the file and, as estimated, in the population."""

    columns: tuple[str, ...]
    uniques: int = Field(description="Records that are alone in the file.")
    pairs: int = Field(description="Records that one other record of the file equals.")
    correct_match: float = Field(description="Probability that a match with a unique record is correct (DIS).")
    pitman: float | None = Field(description="Estimated share of people who are unique; None where it has no fit.")
    zayatz: float
    snb: float | None
    chosen: Literal["pitman", "zayatz", "snb"] = Field(description="Estimate that the decision rule takes.")
    population_share: float = Field(description="The chosen estimate.")


class SinglingOutFact(Fact):
    """Records that small sets of released columns single out."""

    columns: int = Field(description="Columns of the largest set that was searched.")
    known: tuple[str, ...] = Field(description="Released columns that may be known.")
    presumed: tuple[str, ...] = Field(description="Known columns whose probability the request does not state.")
    masked: Literal["as released", "as collected"] | None = Field(
        description="Values of masked columns that were counted; None where none is among those known."
    )
    sampling_fraction: float = Field(description="Released records as a share of the people they are a sample of.")
    declared_fraction: bool = Field(description="Whether the policy states it; otherwise the population table does.")
    known_presence: bool = Field(
        default=False,
        description="Whether others can know who is in the file, so that whoever is alone there is found.",
    )
    records: int
    singled_out: int
    as_released: int = Field(description="The same by all values as released, which the file as written must repeat.")
    score_maximum: float = Field(description="Highest SUDA score of a record.")
    dis_maximum: float = Field(description="Highest DIS-SUDA probability of a record.")
    by_size: tuple[SingledOutFact, ...]
    by_column: tuple[ColumnUniquesFact, ...] = Field(description="The largest part of the scores first.")
    worst: UniquenessFact | None = Field(description="The searched set by which most records are alone.")
    together: UniquenessFact | None = Field(description="All columns that may be known, together.")

    @property
    def share(self) -> float:
        """Share of the records that some searched set singles out."""
        return self.singled_out / self.records

    @property
    def population_share(self) -> float:
        """Estimated share of the records that the worst set singles out in the population."""
        return 0.0 if self.worst is None else self.worst.population_share
