"""A short name in plain characters, made of any name."""

import re
import unicodedata


def plain_name(name: str, mark: str = "-") -> str:
    """The small letters without accents and the digits of a name, with a mark between its words; may be empty.

    >>> plain_name("Universität Gießen (AG 3)"), plain_name("Zoë O'Neil", ".")
    ('universitat-giessen-ag-3', 'zoe.o.neil')
    """
    plain = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", mark, plain).strip(mark)
