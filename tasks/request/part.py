"""Base model of all parts of a request, the kinds of text and number they hold, and the error of a broken rule."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from tasks.core.people import PERSON_ID

IDENTIFIER = r"^[a-z0-9][a-z0-9._-]{0,63}$"
RELEASE_ID = r"^[0-9a-f]{64}$"

Identifier = Annotated[str, StringConstraints(pattern=IDENTIFIER)]
ReleaseId = Annotated[str, StringConstraints(pattern=RELEASE_ID)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)]
PersonId = Annotated[str, StringConstraints(pattern=PERSON_ID)]
PersonName = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
OpenProbability = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Money = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]
Cost = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
RelativePath = Annotated[str, StringConstraints(min_length=1, max_length=1024)]

BROKEN_RULE = "broken_rule"
"""Type of the errors that validators raise."""


Part = TypeVar("Part", bound="RequestPart")


@dataclass(frozen=True)
class Rule(Generic[Part]):
    """A condition that relates values of one part, with the words of its refusal; these hold no values of the data."""

    expected: str | Callable[[Part], str]
    broken: Callable[[Part], bool | str | None]
    """Whether a part breaks it; a text is the place of the mistake."""
    at: str = ""
    """Keys and positions of the mistake below the part, with dots between them, where it is always the same."""
    got: str | Callable[[Part], str] = "none"
    fix: str = ""


class RequestPart(BaseModel):
    """A part of the request: no unknown keys, never changed after it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, ser_json_inf_nan="strings")
    rules: ClassVar[tuple[Rule[Any], ...]] = ()
    """Rules that no type states; the first broken one is reported."""

    @model_validator(mode="after")
    def _keeps_rules(self) -> Self:
        self._complete()
        for rule in self.rules:
            if place := rule.broken(self):
                expected, got = (text if isinstance(text, str) else text(self) for text in (rule.expected, rule.got))
                at = self._written_at(place if isinstance(place, str) else rule.at)
                raise broken_rule(expected, at, got=got, fix=rule.fix)
        return self

    def _complete(self) -> None:
        """Add what follows from the values, before the rules are checked."""

    def _written_at(self, place: str) -> str:
        """Place in the document for a place in the part that a rule names."""
        return place


def at_first(key: str, wrong: Callable[[Any, str], bool], part: str = "attributes") -> Callable[[Any], str | None]:
    """For a rule of a request: the place of a key of the first attribute or table that something is wrong with.

    ``wrong`` takes the request and a name in the part, which is attributes or tables.
    """
    return lambda request: next(
        (f"{part}.{name}.{key}" for name in getattr(request, part) if wrong(request, name)), None
    )


def broken_rule(expected: str, at: str = "", *, got: str, fix: str) -> PydanticCustomError:
    """Error for a validator to raise where values do not fit each other or a rule that no type states.

    ``at`` has the keys and positions of the mistake below the part that is validated, with dots between them; ``got``
    and ``fix`` hold no values from the data's domain.
    """
    steps = tuple(int(step) if step.isdigit() else step for step in at.split(".") if step)
    return PydanticCustomError(BROKEN_RULE, "{expected}", dict[str, Any](expected=expected, at=steps, got=got, fix=fix))


def first_repeated(items: Iterable[Hashable]) -> int | None:
    """Position of the first item that equals one before it; None where all differ.

    >>> first_repeated("abcb"), first_repeated("abc")
    (3, None)
    """
    seen: set[Hashable] = set()
    for position, item in enumerate(items):
        if item in seen:
            return position
        seen.add(item)
    return None


def _each_once(items: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    if len(set(items)) < len(items):
        raise broken_rule("each is named once", got="one of them twice", fix="remove the repetition")
    return items


EachOnce = AfterValidator(_each_once)
"""Refuses a list that repeats an item."""


def given(part: RequestPart, names: Iterable[str]) -> list[str]:
    """Keys, among some, that a part has a value for, each once."""
    return [name for name in dict.fromkeys(names) if getattr(part, name) is not None]
