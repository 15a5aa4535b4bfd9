"""Tables of ``releasegate assess game --record``: the strategies for one record, and the best by stakes."""

from collections.abc import Iterator

from flows.cli.output import figure, table
from reports import numbers
from reports.document import Block
from tasks.assessments.identity.record_game import FACTORS, RecordGame, RecordStrategy

_NOTE = (
    "levels: quasi-identifiers that are generalized, by level; people: those of the population who match; P: expected "
    "re-identifications of the record; → the cell that the recipient's method releases. The steward alone sees this."
)


def record_tables(recipient: str, game: RecordGame, top: int) -> Iterator[Block]:
    """The best strategies and the one that is released, then the best strategy at multiples of V and L."""
    shown = [place for place, one in enumerate(game.strategies) if place < top or one.released]
    alike = f"{game.alike} record{'' if game.alike == 1 else 's'} alike"
    gone = "" if game.is_released else "; left out of the release"
    yield from table(
        f"{recipient}: record {game.row:,}, {alike}{gone}; {len(shown)} of {len(game.strategies)} strategies",
        ("", ">rank", "levels", ">value v", ">people", "attack", ">P", ">publisher", ">recipient"),
        [_row(place, game.strategies[place]) for place in shown],
        _NOTE,
    )
    named = sorted({place for line in game.best for place in line})
    letters = {place: chr(ord("A") + number) for number, place in enumerate(named[:26])}
    yield from table(
        "The best strategy where benefit V (across) and loss L with the gain (down) are multiples of these",
        ("L \\ V", *(f">{factor:g}" for factor in FACTORS)),
        [
            (
                f"{loss:g}",
                *(f"{letters.get(one, '+')}{'*' if hit else ''}" for one, hit in zip(best, hits, strict=True)),
            )
            for loss, best, hits in zip(FACTORS, game.best, game.attacked, strict=True)
        ],
        "* is attacked; " + "; ".join(f"{letter}: {_levels(game.strategies[one])}" for one, letter in letters.items()),
    )


def _row(place: int, one: RecordStrategy) -> tuple[str, ...]:
    return (
        "→" if one.released else "",
        f"{place + 1:,}",
        _levels(one),
        figure(one.value),
        f"{one.people:,}",
        "yes" if one.attacked else "no",
        numbers.risk(one.reidentified),
        figure(one.publisher),
        figure(one.adversary),
    )


def _levels(one: RecordStrategy) -> str:
    return ", ".join(f"{name} {level}" for name, level in one.levels.items() if level) or "as collected"
