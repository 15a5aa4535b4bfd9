"""Organisations by name: when two names may be of one organisation, or of it and a part of it."""

import re
from functools import lru_cache

from tasks.core.people import person_key, words_of

_SEPARATOR = re.compile(r"[,;:/|()–—]|\s-\s|\s(?:at|within|of the|an der|der)\s", re.IGNORECASE)
"""Signs and words that separate a part from the whole."""
_EMPTY = re.compile(
    "a|an|the|of|for|and|at|in|on|to|von|van|der|die|das|des|dem|den|fur|und|de|la|le|les|du|et|del|di|e|y|"
    "inc|incorporated|ltd|limited|llc|llp|plc|corp|corporation|co|company|gmbh|ggmbh|ag|ug|kg|se|sa|sas|sarl|spa|srl|"
    "bv|nv|ab|as|oy|aps|ev"
)
"""Words that say nothing of which organisation it is: legal forms among them."""
_UNIT = re.compile("dept|dpt|department|departement|departamento|abteilung|division|section|unit")
"""Words for a part of an organisation, which others may leave out."""
_PART = re.compile(
    f"{_UNIT.pattern}|school|faculty|fakultat|faculte|institute|institut|chair|lehrstuhl|centre|center|zentrum|"
    "laboratory|lab|group"
)
"""Words after which the name of the whole may stand."""
_WHOLE = ("univ", "hochschul", "college", "hospital", "klinik")
"""Beginnings of words for an organisation that has parts, which follow its name and a comma."""
_LEAST_LETTERS = 3
"""Fewest letters of an abbreviation."""

Words = tuple[str, ...]
Signatory = tuple[str, str]
"""Name of an organisation, and id of the agreement that binds it."""


def may_be_one_party(one: Signatory, other: Signatory) -> bool:
    """Whether two may be one organisation by their names, or have one agreement."""
    return one[1] == other[1] or may_be_same_organisation(one[0], other[0])


def may_be_same_organisation(one: str, other: str) -> bool:
    """Whether two names may be of one organisation, or of parts of it; words may be abbreviated.

    Names of as many words may have them in any order. The words of a shorter one, two at least, have to follow each
    other in the longer one, where that begins or after the name of a part: what else precedes them tells another
    organisation.

    >>> may_be_same_organisation("Regional University", "Regional Univ. Epidemiology Dept")
    True
    >>> may_be_same_organisation("University of Graz", "Medical University of Graz")
    False
    """
    if person_key(one) == person_key(other):
        return True
    (words, starts, head), (others, more, front) = _parsed(one), _parsed(other)
    if len(words) == len(others) and all(map(_alike, sorted(words), sorted(others))):
        return words == others or len(words) > 1
    return (
        any(_begin_alike(words, others[at:]) for at in more)
        or any(_begin_alike(others, words[at:]) for at in starts)
        or (len(head) == len(front) and _begin_alike(head, front))
    )


def _alike(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return short == long or (len(short) >= _LEAST_LETTERS and long.startswith(short))


def _begin_alike(short: Words, words: Words) -> bool:
    return 1 < len(short) <= len(words) and all(map(_alike, short, words))


@lru_cache(maxsize=4096)
def _parsed(name: str) -> tuple[Words, frozenset[int], Words]:
    """The words that count, the places where the name of a whole may begin, and the whole before its first part."""
    found, starts, previous = list[str](), {0}, ""
    for part in _SEPARATOR.split(name):
        starts.add(len(found))
        for word in words_of(part):
            if _PART.fullmatch(previous) and not _EMPTY.fullmatch(word):
                starts.add(len(found))
            if not _EMPTY.fullmatch(word) and not _UNIT.fullmatch(word):
                found.append(word)
            previous = word
    head = tuple(found[: min(starts - {0}, default=0)])
    return tuple(found), frozenset(starts), head if any(word.startswith(_WHOLE) for word in head) else ()
