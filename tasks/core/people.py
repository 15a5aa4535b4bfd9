"""People by name: when two spellings are one name or may be, and the roles in which people and the gate act.

A name is a claim; only a signature shows whose it is. Two comparisons serve two ends: `same_person` finds the person
whom a spelling means, `may_be_same_person` refuses whoever may be barred, and errs on that side.
"""

import re
import unicodedata
from collections import Counter
from enum import StrEnum
from functools import lru_cache


class WorkflowRole(StrEnum):
    """Role in which somebody brings about a change of a release."""

    REQUESTER = "requester"
    """Asked for the release; never one of its reviewers."""
    GATE = "gate"
    """The program, applying the policy's gates and the calendar."""
    REVIEWER = "reviewer"
    OFFICER = "officer"
    """Named in the policy; makes overrides and revocations."""


PERSON_ID = r"^[a-z0-9][a-z0-9._@+-]{0,63}$"
"""Id of a person in the directory of a workspace."""
Words = tuple[str, ...]

_LEFT_OUT = frozenset("'`´‘’‛′ʹʻʼʽˈ＇") | {chr(0x34F), *map(chr, range(0xFE00, 0xFE10))}
"""Apostrophes in all their forms, and marks that only choose how a character is drawn."""
_TITLES = re.compile(
    "dr|doctor|prof|professor|mr|mrs|ms|miss|mx|sir|dame|rev|herr|frau|ing|dipl|esq|phd|ph|dphil|md|mph|mba|jd|llm|bsc|msc"
)
"""Titles and degrees; those that are also family names are not among them."""
_ACCENT = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]")
_LATIN = re.compile(r"LATIN (?:SMALL LETTER|LETTER SMALL CAPITAL) (?:[A-Z]{3,} )*([A-Z]{1,2})(?: WITH .*)?")
"""Unicode's names of letters that are a Latin letter, or two, with a stroke, a hook or another form."""
_LOOK_ALIKE = str.maketrans(
    "авеһіјкӏмнорсѕтуүѵхԁԛԝгпьαβγεζηικμνοπρστυχωςϲϳðŋɑɩ", "abehijklmhopcstyyvxdqwrnbabyeznikuvonpotuxwccjdnai"
) | {ord("þ"): "th"}
"""Small letters of Cyrillic, Greek and some others, and the Latin ones that they are read as (Unicode TS 39)."""
_READ_AS = str.maketrans("ΗΜΝΥI1|0", "hmnylllo")
"""Capitals, digits and signs that are read as another letter than their small form."""
_WHERE = re.compile(r"[^()]+ \(([^()]+)\)")
"""Origin that follows a login in the actor of a ledger entry."""
_SUBMITTER = re.compile(r"(?:made|submitted again) by ([^,]+)")
_SPELT = ((re.compile("([aou])e"), r"\1"), (re.compile("m"), "rn"), (re.compile("w"), "vv"))
"""Letters that are written as two, or look like two."""


def person_key(name: str) -> str:
    """A name without what two spellings of it may differ in: case, accents, punctuation, titles, order of its words.

    Letters of other alphabets count as the Latin ones that they look like. Invisible characters and apostrophes are
    left out; other punctuation separates words. A name of nothing else is its own key.
    """
    return " ".join(sorted(words_of(name))) or " ".join(name.casefold().split())


def same_person(one: str, other: str) -> bool:
    """Whether two spellings are one name."""
    return person_key(one) == person_key(other)


def may_be_same_person(one: str, other: str) -> bool:
    """Whether two names may be one person's: the same letters, or one is part of the other, initials included."""
    return same_person(one, other) or any(
        _is_part(left, right) or _is_part(right, left) or sorted("".join(left)) == sorted("".join(right))
        for left in _readings(one)
        for right in _readings(other)
    )


def mixes_alphabets(name: str) -> bool:
    """Whether a name has letters of several of the alphabets whose letters look alike."""
    letters = (unicodedata.name(one, "").partition(" ")[0] for one in unicodedata.normalize("NFKC", name))
    return len({"LATIN", "GREEK", "CYRILLIC"} & set(letters)) > 1


def login_of(actor: str) -> str:
    """The login, account or token in the actor of a ledger entry, which may say after it where it was used."""
    return actor.partition(" (")[0].casefold()


def other_submitters(actor: str) -> frozenset[str]:
    """Other logins that took part in a request, by the actor of its entry: made its token, or submitted it again."""
    told = _WHERE.fullmatch(actor)
    found = map(_SUBMITTER.fullmatch, told[1].split(", ") if told else ())
    return frozenset(one[1].casefold() for one in found if one) - {login_of(actor)}


def submitters_of(actor: str) -> frozenset[str]:
    """Every login that took part in a request, by the actor of its entry."""
    return other_submitters(actor) | {login_of(actor)}


@lru_cache(maxsize=4096)
def words_of(name: str) -> Words:
    """Words of a name in their order, folded; without titles, unless there is nothing else."""
    seen = "".join(character for character in name if character not in _LEFT_OUT)
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", seen).casefold()).casefold()
    letters = "".join(map(_letter, _ACCENT.sub("", folded).translate(_LOOK_ALIKE)))
    words = tuple(letters.split())
    return tuple(word for word in words if not _TITLES.fullmatch(word)) or words


def _letter(character: str) -> str:
    if character.isascii() and character.isalnum():
        return character
    kind = unicodedata.category(character)
    if kind == "Cf":
        return ""
    if kind == "Cc" or kind[0] in "PZ":
        return " "
    latin = _LATIN.fullmatch(unicodedata.name(character, ""))
    return latin[1].lower() if latin else character


@lru_cache(maxsize=4096)
def _readings(name: str) -> frozenset[Words]:
    """The words that a name may consist of: as written or as it looks, with what follows its first comma or without."""
    found = set[Words]()
    for text in (name, name.translate(_READ_AS)):
        for part in (text, text.partition(",")[0]):
            words = words_of(part)
            if part is text or len(words) > 1:
                found |= {words, tuple(map(_spelt, words))}
    return frozenset(found - {()})


def _spelt(word: str) -> str:
    for letters, one in _SPELT:
        word = letters.sub(one, word)
    return word


def _is_part(some: Words, words: Words) -> bool:
    """Whether each of some words equals one of the others, or one is the other's initial; each is used once.

    One word at least is whole in both, or there are as many words.
    """
    whole, others = (Counter(word for word in each if len(word) > 1) for each in (some, words))
    if len(some) != len(words) and not whole & others:
        return False
    for letter in {word[0] for word in some}:
        left, spare = (
            sum(count for word, count in each.items() if word[0] == letter) for each in (whole - others, others - whole)
        )
        initials, offered = some.count(letter), words.count(letter)
        if left > offered or initials + left > offered + spare:
            return False
    return bool(some)
