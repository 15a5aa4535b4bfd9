"""The protocol of Torra 2016, slide 62: an attack by the first attributes of a file, one after another known."""

from collections.abc import Callable, Sequence

from numpy.typing import ArrayLike

from tasks.assessments.linkage.problem.figure import Linkage
from tasks.assessments.linkage.problem.files import Files, Knowledge, files_to_link

Attack = Callable[[Files], Linkage]


def first_attributes(count: int) -> Knowledge:
    """The first ``count`` attributes in file order, of everybody."""
    return Knowledge(attributes=tuple(range(count)))


def attack_under(
    attack: Attack, original: ArrayLike, masked: ArrayLike, knowledge: Sequence[Knowledge]
) -> list[Linkage]:
    """One attack under several states of knowledge; average their shares with ``mean_share``."""
    return [attack(files_to_link(original, masked, known)) for known in knowledge]
