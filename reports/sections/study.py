"""Associations that the study of a recipient needs, as collected and in the copy."""

from collections.abc import Iterator, Mapping, Sequence

from reports.model import numbers
from reports.model.document import DASH, Block, Paragraph, Table
from reports.model.record_view import RecordView
from reports.sections.groupings import begins_above
from tasks.assessments.utility.facts import AssociationFact
from tasks.core.plural import plural
from tasks.request.model import Role

_IN_TABLE = 6
_OUTCOMES = 5
_IN_SENTENCE = 2
_WORTH_SAYING = 0.05
"""Association as collected from which a sentence has it: below, there is little that a copy could lose."""
_SCALE = "from 0 for none to 1, {} / in the copy (–: too many values for the records)"


def associations(view: RecordView) -> Iterator[Block]:
    """Associations of the columns that count most with each outcome, else with each other, if any was measured."""
    found = _needed(view)
    if not found:
        return
    scale = _SCALE.format("at the finest level that may leave" if begins_above(view, None) else "as collected")
    quasi = {one.name for one in view.fields(Role.QUASI)}
    with_outcome = {
        one.attributes: one for one in found if one.attributes[0] in quasi and one.attributes[1] not in quasi
    }
    if with_outcome:
        shown = list(with_outcome.values())
        yield _with_outcomes(with_outcome, scale)
    else:
        shown = list(found[:_IN_TABLE])
        most = f"; the {numbers.integer(len(shown))} strongest of {numbers.integer(len(found))}"
        yield Table(
            f"What analyses will find: associations of the columns that count most, {scale}"
            + most * (len(shown) < len(found)),
            "Columns 46 | Measure 22 | Association 32r",
            [(" and ".join(one.attributes), one.measure, _change(one)) for one in shown],
        )
    if any((one.after or 0.0) > (one.before or 0.0) + _WORTH_SAYING / 2 for one in shown if one.before is not None):
        yield Paragraph("A figure that rises does so because values are grouped, and is no gain.", "note")


def _with_outcomes(found: Mapping[tuple[str, str], AssociationFact], scale: str) -> Table:
    """A row for each column that counts most, a column for each outcome; of many, those that go with most."""
    strongest: dict[str, float] = {}
    for (_, outcome), one in found.items():
        strongest[outcome] = max(strongest.get(outcome, 0.0), one.before or 0.0)
    most = sorted(strongest, key=lambda name: -strongest[name])[:_OUTCOMES]
    outcomes = [name for name in strongest if name in most]
    rows = dict.fromkeys(name for name, _ in found)
    others = len(strongest) - len(outcomes)
    title = (
        f"What analyses will find: associations of the columns that count most with others, {scale}; correlation "
        "ratio where the other is a number, else Cramér's V"
    )
    head = ["Column 30", *(f"{name.replace('|', '/')} {70 // len(outcomes)}r" for name in outcomes)]
    return Table(
        title + (f"; {plural(others, 'other')} in section E13" if others else ""),
        " | ".join(head),
        [
            (name, *(_change(found[pair]) if (pair := (name, outcome)) in found else DASH for outcome in outcomes))
            for name in rows
        ],
    )


def _change(one: AssociationFact) -> str:
    return f"{numbers.fixed_or_dash(one.before, 2)} / {_after(one)}"


def kept_associations(view: RecordView) -> str | None:
    """Sentence on the strongest ones; None where none was measured."""
    pairs = [
        f"{' and '.join(one.attributes)} {numbers.fixed_or_dash(one.before, 2)} as collected, {_after(one)} in the copy"
        for one in _needed(view)[:_IN_SENTENCE]
        if abs(one.before or 0.0) >= _WORTH_SAYING
    ]
    return f"Association, from 0 to 1, of {'; of '.join(pairs)}." if pairs else None


def _after(one: AssociationFact) -> str:
    return "lost" if one.after is None else numbers.fixed(one.after, 2)


def _needed(view: RecordView) -> Sequence[AssociationFact]:
    """Associations that can be measured, of what counts most with outcomes or else with each other.

    An outcome is a column that is no quasi-identifier. The strongest as collected come first.
    """
    if view.record.utility is None:
        return ()
    weights = view.risk.game.weights
    most = max(weights.values(), default=1.0)
    quasi = {one.name for one in view.fields(Role.QUASI)}
    left_aside = {name for name in quasi if weights.get(name) != most}
    among = [
        one
        for one in view.record.utility.associations
        if (one.before, one.after) != (None, None) and not left_aside.intersection(one.attributes)
    ]
    with_outcome = [one for one in among if not quasi.issuperset(one.attributes)]
    return sorted(with_outcome or among, key=lambda one: -abs(one.before or 0.0))
