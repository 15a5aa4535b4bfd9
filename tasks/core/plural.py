"""Numbers with their nouns and names in lists, for messages and documents."""

from collections.abc import Iterable


def plural(number: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> plural(1, "file"), plural(2000, "copy", "copies")
    ('1 file', '2,000 copies')
    """
    return f"{number:,d} {one if number == 1 else many or one + 's'}"


def listed(names: Iterable[str], last: str = "and") -> str:
    """Names as a list in a sentence.

    >>> listed(["a", "b", "c"]), listed(["a", "b"], "or"), listed([])
    ('a, b and c', 'a or b', 'none')
    """
    *before, end = tuple(names) or ("none",)
    return f"{', '.join(before)} {last} {end}" if before else end
