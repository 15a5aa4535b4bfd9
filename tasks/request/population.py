"""The people that the data are drawn from: a table of their counts, the file itself, or a population it samples."""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from tasks.core.plural import listed
from tasks.request.part import EachOnce, RelativePath, RequestPart, Rule, Text

_BASES = ("path", "self", "size", "sampling_fraction")


class PopulationBasis(StrEnum):
    """Basis on which the people of a class are counted."""

    TABLE = "table"
    """A table of the population that has every quasi-identifier."""
    TABLE_AND_FILE = "table and file"
    """A table that lacks some quasi-identifiers; classes that reveal one of these are counted in the file."""
    FILE = "file"
    """The file, which holds everybody of the population."""
    SAMPLE = "sample"
    """The file, a random sample of a larger population."""


class Population(RequestPart):
    """The people that the data are drawn from: exactly one of path, self, size and sampling_fraction.

    Without a table people are counted in the file, which never has more of them than the population.
    """

    path: RelativePath | None = Field(default=None, description="Table of people by quasi-identifier values.")
    source: Text = Field(description="The people, and the source of their number.")
    count: Text = Field(default="count", description="Column of the table with the number of people.")
    lacks: Annotated[tuple[Text, ...], EachOnce] = Field(
        default=(),
        description="Quasi-identifiers that the table lacks: a class that shows one is counted in the file. Needs a "
        "partition with cell_weights: data, without k_anonymity.",
    )
    self: bool = Field(
        default=False, description="Whether the file is the population: everybody in it has a record, and others know."
    )
    size: Annotated[int, Field(ge=1, le=20_000_000_000)] | None = Field(
        default=None,
        description="People of the population that the file is a random sample of, for estimated.* and singling_out.",
    )
    sampling_fraction: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = Field(
        default=None, description="Records as a share of the people whom the file is a random sample of."
    )

    rules: ClassVar[tuple[Rule["Population"], ...]] = (
        Rule(
            "give exactly one of path, self, size, sampling_fraction",
            lambda one: len(_given(one)) != 1,
            got=lambda one: listed(_given(one)),
            fix="name a table of the population with path; without one, set “self: true” if everybody of it is in the "
            "file, or give the size of the population, or the share of it, that the file is a random sample of",
        ),
        Rule(
            "only a table of the population has a column of counts",
            lambda one: one.path is None and "count" in one.model_fields_set,
            "count",
            got="count without path",
            fix="remove it",
        ),
        Rule(
            "only a table of the population lacks quasi-identifiers",
            lambda one: one.path is None and bool(one.lacks),
            "lacks",
            got="lacks without path",
            fix="remove it",
        ),
    )

    @property
    def basis(self: "Population") -> PopulationBasis:
        """Basis on which the people of a class are counted."""
        if self.path is not None:
            return PopulationBasis.TABLE_AND_FILE if self.lacks else PopulationBasis.TABLE
        return PopulationBasis.FILE if self.self else PopulationBasis.SAMPLE

    @property
    def from_below(self: "Population") -> bool:
        """Whether a class may have more people than are counted."""
        return self.basis in {PopulationBasis.TABLE_AND_FILE, PopulationBasis.SAMPLE}

    def people(self: "Population", records: int) -> int | None:
        """People of the population that so many records are a random sample of; None where the file is no sample."""
        if self.basis is not PopulationBasis.SAMPLE:
            return None
        return self.size if self.sampling_fraction is None else max(records, round(records / self.sampling_fraction))


class ExternalData(RequestPart):
    """A register of named people that an adversary can link to: their number by quasi-identifier values."""

    path: RelativePath = Field(
        description="A column for each quasi-identifier, at the level of the data, and the counts."
    )
    source: Text = Field(description="Source of the counts.")
    count: Text = Field(default="count", description="Column with the number of people listed.")


def _given(population: Population) -> list[str]:
    return [name for name in _BASES if getattr(population, name) not in {None, False}]
