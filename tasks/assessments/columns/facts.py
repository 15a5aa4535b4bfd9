"""Facts of the released columns' places in the attack, and their findings and remedies in words."""

from enum import StrEnum

from pydantic import Field

from tasks.core.fact import Fact


class Sign(StrEnum):
    """Reason for which a released column needs a place in the attack."""

    TELLS = "tells"
    """It gives most of what there is to know of a quasi-identifier or a withheld column."""
    TOLD = "told for some"
    """Some of its values tell the other column outright."""
    FOLLOWS = "follows"
    """Whoever knows quasi-identifiers knows it too."""
    LISTED = "listed"
    """The population table or the register has it."""
    UNIQUE = "unique"
    """Most records would stand alone by it."""


class ColumnFinding(Fact):
    """One reason for which a released column needs a place in the attack."""

    sign: Sign
    columns: tuple[str, ...] = Field(description="Released columns that it takes together, this one among them.")
    others: tuple[str, ...] = Field(default=(), description="Quasi-identifiers, withheld or listed columns.")
    table: str = Field(default="", description="Table of people that has the column.")
    share: float = Field(default=1.0, description="Share of information or records, to hundredths.")

    @property
    def sentence(self) -> str:
        """The finding in words."""
        these, others, share = " and ".join(self.columns), " and ".join(self.others), f"{self.share:.0%}"
        verb = "tell" if len(self.columns) > 1 else "tells"
        match self.sign:
            case Sign.TELLS:
                return f"{these} {verb} {others}: {share} of what there is to know of it"
            case Sign.TOLD:
                return f"{these} {verb} {others} outright for {share} of the records"
            case Sign.FOLLOWS:
                return f"{these} follows from {others}: whoever knows that knows {share} of it"
            case Sign.LISTED if self.others == self.columns:
                return f"the {self.table} has {these}"
            case Sign.LISTED:
                return f"{these} has the values that the {self.table} has as {others}"
            case _:
                return f"most records stand alone by {these}: {share} as many values as records"


class ColumnFact(Fact):
    """A released column other than the quasi-identifiers, and its place in the attack."""

    name: str
    distinct_share: float = Field(description="Distinct values over records, as released.")
    entropy: float = Field(description="Entropy of its values as released, in bits.")
    masked: bool
    numeric: bool = Field(description="Whether its values are numbers in every record, so that it can be masked.")
    excused: str = Field(default="", description="Who lets it leave all the same, and why; empty where nobody does.")
    findings: tuple[ColumnFinding, ...]

    @property
    def advice(self) -> str:
        """Findings and remedy in words."""
        return f"{'; '.join(one.sentence for one in self.findings)}: {self.remedy}"

    @property
    def remedy(self) -> str:
        """The smallest change of the request that gives the column its place."""
        name, signs = self.name, {one.sign for one in self.findings}
        excuse = f"or say under {name} who lets it leave all the same, and why: “excused: {{by, because}}”"
        by_name = any(one.sign is Sign.LISTED and one.others == (name,) for one in self.findings)
        if by_name:
            return f"make {name} a quasi-identifier with a hierarchy, withhold it (role: direct identifier), {excuse}"
        if signs == {Sign.UNIQUE} and self.numeric and not self.masked:
            mask = f"mask {name} (masking: attributes: [{name}], method: individual-ranking, k: 5)"
            return f"{mask}, or withhold it (role: direct identifier), {excuse}"
        return f"withhold {name} (role: direct identifier), {excuse}"


class ColumnsFact(Fact):
    """Places of all released columns in the attack."""

    columns: tuple[ColumnFact, ...]

    @property
    def unplaced(self) -> tuple[ColumnFact, ...]:
        """Released columns without a place; one of a set that is excused excuses the set."""
        excused = {one.name for one in self.columns if one.excused}
        return tuple(
            one for one in self.columns if any(excused.isdisjoint(finding.columns) for finding in one.findings)
        )
