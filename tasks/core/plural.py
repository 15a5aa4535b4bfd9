"""A number with its noun, for messages and documents."""


def plural(number: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> plural(1, "file"), plural(2000, "copy", "copies")
    ('1 file', '2,000 copies')
    """
    return f"{number:,d} {one if number == 1 else many or one + 's'}"
