"""The columns of a draft in a table, and what a person says of them in one line, such as “4-6,9=s 12=w”."""

import re
from collections.abc import Container, Mapping, Sequence

from reports.model.blocks import table
from reports.model.document import Block
from tasks.draft.document import in_short
from tasks.draft.roles import IN_LABEL, MANY_VALUES, MAYBE_QUANTITY, QUANTITY, UNCLEAR, Suggestion
from tasks.draft.stated import STATED
from tasks.request.model import Role

LETTERS: Mapping[str, tuple[Role, str]] = {
    "q": (Role.QUASI, "others may know it: leaves in groups, not kept secret"),
    "n": (Role.QUASI, "the same, but the study needs its detail most"),
    "s": (Role.SENSITIVE, "secret, nobody outside knows it: leaves as it is"),
    "k": (Role.SENSITIVE, "secret that some outsiders may know, such as family: numbers leave as means"),
    "i": (Role.INSENSITIVE, "harmless, nobody outside knows it: leaves as it is"),
    "w": (Role.WITHHELD, "does not leave; d if it names a person"),
    "d": (Role.DIRECT, ""),
}
"""Roles that a person may give a column, by letter; one that is explained with another letter has no words."""
KNOWN_TO_SOME = "k"
UNKNOWN = "si"
"""Letters that say that nobody outside knows the values."""
_LEAVES = {
    Role.QUASI: "in groups",
    Role.TEXT: "redacted",
    Role.PSEUDONYM: "renamed",
    Role.DIRECT: "no",
    Role.WITHHELD: "no",
    Role.UNREVIEWED: "? no",
}
_UNSAID = frozenset({UNCLEAR, MANY_VALUES, QUANTITY, MAYBE_QUANTITY, STATED})
"""Reasons that the number of values shows, or that are none."""
_MEASURED = re.compile(r"(reveals .+?)( exactly for |: ).*")
_LETTER, _FIGURE = "[a-z]", "[^\\s,;=]+(?:,[0-9]+(?![0-9=-]))?"
"""A letter; a figure, in which a comma may be the decimal mark unless the next column follows it."""


def shown_columns(columns: Mapping[str, Suggestion], doubtful: frozenset[str]) -> list[Block]:
    """Number, name, way to leave, number of values and reason of each column; doubtful ones do not leave."""
    rows = [
        (str(place), name, *_cells(one, doubtful=name in doubtful))
        for place, (name, one) in enumerate(columns.items(), 1)
    ]
    return table("", (">", "column", "leaves", ">values", "why"), rows)


def way_of(role: Role) -> str:
    """Way in which a column of a role leaves, in a word or two."""
    return _LEAVES.get(role, "as it is")


def _cells(one: Suggestion, *, doubtful: bool) -> tuple[str, str, str]:
    leaves = "? no" if doubtful else way_of(one.role)
    label = one.profile.label
    said = [
        _MEASURED.sub(r"\1", short)
        for reason, short in zip(one.reasons, in_short(one), strict=True)
        if reason not in _UNSAID and not (label and reason.endswith(IN_LABEL)) and not short.startswith("or ")
    ]
    kind = ["sensitive"] if doubtful and one.role is Role.SENSITIVE else []
    return leaves, f"{one.profile.distinct:,}", "; ".join([*([f"“{label}”"] if label else []), *kind, *said])


def read_changes(text: str, columns: Mapping[str, Suggestion]) -> tuple[dict[str, str], str]:
    """Letters by column, and what is wrong with the line, empty where nothing is.

    Columns are named, or numbered as they are shown; “4-6” are three of them, as “4,5,6” are.
    """
    given, problem = _read(text, [*columns], _LETTER, "a letter, such as 4-6,9=s 12=w")
    made = {name: letter.lower() for name, letter in given.items()}
    unknown = [letter for letter in made.values() if letter not in LETTERS]
    if problem or unknown:
        return {}, problem or f"no such letter: {unknown[0]}; there are {', '.join(LETTERS)}"
    rows = [name for name, letter in made.items() if LETTERS[letter][0] is Role.QUASI and columns[name].of_row]
    if rows:
        return {}, f"{', '.join(rows)}: differs between rows of a person, so it cannot leave in groups"
    return made, ""


def read_figures(text: str, columns: Sequence[str], asked: Container[str]) -> tuple[dict[str, str], str]:
    """Figures, as texts, by column, and what is wrong with the line, which names columns as `read_changes` takes them.

    `asked` are those columns of which a figure is asked.
    """
    made, problem = _read(text, columns, _FIGURE, "a figure, such as 8=0.5 9=0.1")
    others = [name for name in made if name not in asked]
    return ({}, f"not marked {KNOWN_TO_SOME}: {', '.join(others)}") if others else (made, problem)


def _read(text: str, names: Sequence[str], value: str, expected: str) -> tuple[dict[str, str], str]:
    """Values that a line gives columns, and what is wrong with it; `value` is the pattern of what follows “=”."""
    line = re.sub(r"\s*([=,])\s*", r"\1", text.strip())
    made, end = dict[str, str](), 0
    for found in re.finditer(rf"(\S.*?)=({value})(?=[\s,;]|\Z)[\s,;]*", line, re.IGNORECASE):
        if found.start() != end:
            break
        end = found.end()
        for part in [found[1]] if found[1] in names else found[1].split(","):
            chosen = _named(part, names)
            if not chosen:
                return {}, f"no such column: {part}; a name, or a number from 1 to {len(names)}"
            made |= dict.fromkeys(chosen, found[2])
    if end != len(line):
        return {}, f"not clear; columns, “=” and {expected}"
    return made, ""


def _named(part: str, names: Sequence[str]) -> list[str]:
    """The columns of a name, a number, or a range of either; none where there is no such one."""
    numbers = {str(number): name for number, name in enumerate(names, 1)} | {name: name for name in names}
    if part in numbers:
        return [numbers[part]]
    for dash in re.finditer("-", part):
        first, last = numbers.get(part[: dash.start()]), numbers.get(part[dash.end() :])
        if first is not None and last is not None:
            return list(names[names.index(first) : names.index(last) + 1])
    return []
