"""Facts on the information that released columns reveal, with findings and remedies in words."""

from collections.abc import Container, Iterable
from enum import StrEnum

from pydantic import Field

from tasks.core.fact import Fact


class Sign(StrEnum):
    """Way in which a released column reveals a person."""

    TELLS = "tells"
    """It gives most of the information on a quasi-identifier or a withheld column."""
    ADDS = "adds up"
    """Its sum with another, or the difference of both, is a quasi-identifier up to a constant and one."""
    FORMULA = "formula"
    """A formula of it and others gives most of the information on a quasi-identifier."""
    OF_GROUPS = "of groups"
    """Records share its values by groups, of which it is the mean or sum of another column."""
    TOLD = "told for some"
    """Some of its values reveal the other column exactly."""
    NAMES = "names"
    """Its text has values of a quasi-identifier, in the records that have them."""
    FOLLOWS = "follows"
    """It follows from quasi-identifiers."""
    LISTED = "listed"
    """The population table or the register has it."""
    UNIQUE = "unique"
    """Its values are nearly unique."""
    FREE = "free text"
    """Some records have sentences that no other record has."""
    FAR = "far"
    """A few records have values far from all others."""
    ROWS = "rows"
    """It links the rows of a few people who have far more of them than all others."""
    LINKS = "links"
    """Its pseudonyms or values link a few records each, of people whom no risk takes together."""
    NAMED = "named"
    """It is named or described as others usually know, though the request states that nobody outside can know it."""
    PLACE = "place"
    """It is named or described as a place of residence, whose people the population does not count."""


DEPENDENT = frozenset({Sign.TELLS, Sign.ADDS, Sign.FORMULA, Sign.TOLD, Sign.NAMES, Sign.FOLLOWS})
"""Signs of values that depend on those of other columns."""


_SENTENCES = {
    Sign.TELLS: "{verb} {others}: {share} of the information on it",
    Sign.TOLD: "{verb} {others} exactly for {share} of the records",
    Sign.ADDS: "{verb} {others} by their sum or difference, to within 1 for {share} of the records",
    Sign.FORMULA: "{verb} {others} by a formula: {share} of the information on it",
    Sign.OF_GROUPS: "is the mean or sum of {others} over the records that share each of its values, and so tells which "
    "belong together: for {share} of them",
    Sign.NAMES: "{verb} {others}: its text has values of it, in the records that have them",
    Sign.FREE: "has sentences that one record alone has, as free text does",
    Sign.FAR: "has values far from all others, by which a few records are known",
    Sign.ROWS: "shows which rows are of one person: a few people, who are known by that, have far more than all others",
    Sign.FOLLOWS: "follows from {others}: {share} of the information on it",
    Sign.LISTED: "has the values of the {table}'s column {others}",
    Sign.NAMED: "has “{word}” in its name or description, which others usually know, though the request states that "
    "nobody outside does (known_probability: 0)",
    Sign.PLACE: "has “{word}” in its name or description, of which the population has no column: gates count the "
    "people of all places",
    Sign.LINKS: "links records, whose risks are measured one by one: {share} as many values as records",
    Sign.UNIQUE: "has {share} as many distinct values as records",
}
"""Each sign in words, after the names of the columns."""


class ColumnFinding(Fact):
    """One way in which a released column reveals a person."""

    sign: Sign
    columns: tuple[str, ...] = Field(description="Released columns that it takes together, this one among them.")
    others: tuple[str, ...] = Field(default=(), description="Quasi-identifiers, withheld or listed columns.")
    table: str = Field(default="", description="Table of people that has the column.")
    word: str = Field(
        default="", description="Word of its name or description that tells a subject that others usually know."
    )
    counted: bool = Field(
        default=False, description="Whether gates would count a column of such a name without known_probability."
    )
    share: float = Field(default=1.0, description="Share of information or records, to hundredths.")
    knowable: bool = Field(
        default=False,
        description="Whether it reveals a withheld column that outsiders may know: no gate measures a risk by that, "
        "so that no reason excuses it.",
    )

    def revealed(self, among: Container[str]) -> tuple[str, ...]:
        """The columns, of some, that it reveals: a date as a whole or by a part, such as “year of visit”."""
        if self.sign not in (Sign.TELLS, Sign.ADDS, Sign.FORMULA, Sign.TOLD, Sign.NAMES):
            return ()
        return tuple(name for one in self.others for name in (one, one.partition(" of ")[2]) if name in among)

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return self.words(f"{self.share:.0%}")

    def words(self, share: str) -> str:
        """The finding with its share as it may be shown."""
        these, others = " and ".join(self.columns), " and ".join(self.others)
        own = self.sign is Sign.LISTED and self.others == self.columns
        template = "is a column of the {table}" if own else _SENTENCES[self.sign]
        verb = "reveal" if len(self.columns) > 1 else "reveals"
        return f"{these} {template.format(verb=verb, others=others, share=share, table=self.table, word=self.word)}"


class ColumnFact(Fact):
    """A released column other than the quasi-identifiers, and what it reveals."""

    name: str
    distinct_share: float = Field(description="Distinct values over records, as released.")
    entropy: float = Field(
        description="Entropy of its values as released, in bits; of pseudonyms, as if each were in as many records."
    )
    masked: bool
    numeric: bool = Field(description="Whether its values are numbers in every record, so that it can be masked.")
    excused: str = Field(default="", description="Acceptance of its release, with the reason; empty without one.")
    findings: tuple[ColumnFinding, ...]

    @property
    def advice(self) -> str:
        """Findings and remedy in words."""
        return f"{'; '.join(one.sentence for one in self.findings)}: {self.remedy}"

    @property
    def remedy(self) -> str:
        """The smallest change of the request after which the column blocks no release, and the others."""
        *first, excuse = self.to_release
        return ", ".join([*first, f"withhold {self.name} (role: withheld)", f"or {excuse}"])

    @property
    def to_release(self) -> tuple[str, ...]:
        """Changes of the request after which the column may leave, the smallest first."""
        name, excuse = (
            self.name,
            f"state under {self.name} who accepts its release, and why: “excused: {{by, because}}”",
        )
        if any(one.sign is Sign.LISTED and one.others == (name,) for one in self.findings):
            return f"make {name} a quasi-identifier with a hierarchy", excuse
        known = sorted({other for one in self.findings if one.knowable for other in one.others})
        if known:
            unknown = f"state “known_probability: 0” under {' and '.join(known)} if nobody outside can know it"
            return (unknown if self.excused else f"{unknown}, and {excuse}",)
        signs = {one.sign for one in self.findings}
        if signs <= {Sign.NAMED, Sign.PLACE}:
            counted = any(one.counted for one in self.findings)
            left_out = ["leave its known_probability out, so that gates count it"] * counted
            return f"make {name} a quasi-identifier", *left_out, excuse
        own = {
            Sign.FREE: f"have {name} redacted (role: text)",
            Sign.ROWS: "limit the rows of a person (policy.events.most_rows)",
        }
        if remedy := next((own[sign] for sign in own if sign in signs), ""):
            return remedy, excuse
        if signs <= {Sign.UNIQUE, Sign.FAR} and self.numeric and not self.masked:
            return f"mask {name} (masking: attributes: [{name}], method: individual-ranking, k: 5)", excuse
        return (excuse,)


class ColumnsFact(Fact):
    """Information that each released column reveals."""

    columns: tuple[ColumnFact, ...]
    whole_row: dict[str, float] = Field(
        default_factory=dict,
        description="Figures of gates by values that the whole row leaves possible; empty without revealing columns.",
    )

    @property
    def unplaced(self) -> tuple[ColumnFact, ...]:
        """Revealing columns that nobody has excused, or can; one of a set that is excused excuses the set."""
        excused = {one.name for one in self.columns if one.excused}
        return tuple(
            one
            for one in self.columns
            if any(finding.knowable or excused.isdisjoint(finding.columns) for finding in one.findings)
        )

    def telling(self, quasi_identifiers: Iterable[str]) -> tuple[tuple[tuple[str, ...], str], ...]:
        """Released columns, or sets of them, each with one quasi-identifier that it reveals or follows from."""
        names = set(quasi_identifiers)
        return tuple(
            dict.fromkeys(
                (finding.columns, finding.others[0])
                for column in self.columns
                for finding in column.findings
                if finding.sign in DEPENDENT and len(finding.others) == 1 and finding.others[0] in names
            )
        )

    def revealing(self, quasi_identifiers: Iterable[str]) -> tuple[str, ...]:
        """The released columns of ``telling``, each once."""
        return tuple(dict.fromkeys(name for names, _ in self.telling(quasi_identifiers) for name in names))
