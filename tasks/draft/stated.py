"""What a person has stated of a file's rows and columns, in place of what a draft would suggest."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tasks.draft.roles import Suggestion
from tasks.request.model import Role

STATED = "stated by a person"
_WEIGHT_OF_NEEDED = "10"
"""Weight, in the information loss, of columns that a study needs most; others have 1."""


@dataclass(frozen=True)
class Stated:
    """Choices of a person; where there is none, the draft suggests."""

    persons: bool = False
    """Whether it is stated whose each row is."""
    person: str | None = None
    """Column that names the person of each row, where that is stated; None where each row is a person."""
    roles: Mapping[str, Role] = field(default_factory=dict)
    """By column; of a further table, by table and column with a dot between them."""
    needed: frozenset[str] = frozenset()
    """Quasi-identifiers that the study needs most."""
    excused: Mapping[str, str] = field(default_factory=dict)
    """Terms of columns that leave although they tell of people: who accepts that and why, as YAML."""

    def roles_of(self, suggestions: Iterable[Suggestion], table: str = "") -> tuple[Suggestion, ...]:
        """The suggestions for columns, with stated roles in place of suggested ones."""
        return tuple(
            one
            if (role := self.roles.get(f"{table}{one.profile.name}")) is None
            else replace(
                one,
                role=role,
                reasons=one.reasons if role is Role.UNREVIEWED else (STATED,),
                terms={"weight": _WEIGHT_OF_NEEDED} if one.profile.name in self.needed else {},
                groups=one.groups if role is Role.QUASI else None,
            )
            for one in suggestions
        )

    def excused_of(
        self, before: Iterable[Suggestion], after: Iterable[Suggestion], table: str = ""
    ) -> tuple[Suggestion, ...]:
        """The suggestions after columns were found to tell of people; those that are excused keep their role."""
        excuses = (self.excused.get(f"{table}{one.profile.name}", "") for one in before)
        return tuple(
            replace(own, terms={**own.terms, "excused": excuse}) if excuse and found.role is not own.role else found
            for own, found, excuse in zip(before, after, excuses, strict=True)
        )


NOTHING_STATED = Stated()
