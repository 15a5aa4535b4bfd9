"""People by name: when two spellings are taken for one person, and the roles in which people and the gate act.

A name is a claim; only a signature shows whose it is.
"""

import unicodedata
from enum import StrEnum


class WorkflowRole(StrEnum):
    """Role in which somebody brings about a change of a release."""

    REQUESTER = "requester"
    """Asked for the release; never one of its reviewers."""
    GATE = "gate"
    """The program, applying the policy's gates and the calendar."""
    REVIEWER = "reviewer"
    OFFICER = "officer"
    """Named in the policy; answers for overrides and revocations."""


_LEFT_OUT = frozenset("'`´‘’‛′ʹʻʼʽˈ＇") | {chr(0x34F), *map(chr, range(0xFE00, 0xFE10))}
"""Apostrophes in all their forms, and marks that only choose how a character is drawn."""


def person_key(name: str) -> str:
    """A name without what two spellings of it may differ in: case, spaces, punctuation, forms of a character.

    Invisible characters and apostrophes are left out; other punctuation separates words. A name of nothing else is its
    own key.
    """
    seen = "".join(character for character in name if character not in _LEFT_OUT)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
    kinds = [(character, unicodedata.category(character)) for character in folded]
    shown = ["" if kind == "Cf" else " " if kind == "Cc" or kind[0] == "P" else one for one, kind in kinds]
    return " ".join("".join(shown).split()) or " ".join(folded.split())


def same_person(one: str, other: str) -> bool:
    """Whether two names are taken for one person's."""
    return person_key(one) == person_key(other)
