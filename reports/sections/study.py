"""Associations that the study of a recipient needs, as collected and in the copy."""

from collections.abc import Iterator, Sequence

from reports import numbers
from reports.document import Block, Paragraph, Table, strong
from reports.record_view import RecordView
from tasks.assessments.utility.facts import AssociationFact
from tasks.request.model import Role

_IN_TABLE = 6
_IN_SENTENCE = 2
_WORTH_SAYING = 0.05
"""Association as collected from which a sentence has it: below, there is little that a copy could lose."""


def associations(view: RecordView) -> Iterator[Block]:
    """A table of the strongest ones; nothing where none was measured."""
    found = _needed(view)
    if not found:
        return
    shown = found[:_IN_TABLE]
    most = f", the {numbers.integer(len(shown))} strongest of {numbers.integer(len(found))}"
    risen = any((one.after or 0.0) > (one.before or 0.0) + _WORTH_SAYING / 2 for one in shown if one.before is not None)
    yield Table(
        "What analyses will find: associations of the columns that count most with each other and with the other "
        "columns, from 0 for none to 1 (a correlation from −1; –: too many values for the records)"
        + most
        * (len(shown) < len(found)),
        "Columns 46 | Measure 22 | As collected 16r | In the copy 16r",
        [
            (" and ".join(one.attributes), one.measure, numbers.fixed_or_dash(one.before, 3), strong(_after(one)))
            for one in shown
        ],
    )
    if risen:
        yield Paragraph("A figure that rises does so because values are grouped, and is no gain.", "note")


def kept_associations(view: RecordView) -> str | None:
    """Sentence on the strongest ones; None where none was measured."""
    pairs = [
        f"{' and '.join(one.attributes)} {numbers.fixed_or_dash(one.before, 2)} as collected, "
        f"{_after(one, 2)} in the copy"
        for one in _needed(view)[:_IN_SENTENCE]
        if abs(one.before or 0.0) >= _WORTH_SAYING
    ]
    return f"Association, from 0 to 1, of {'; of '.join(pairs)}." if pairs else None


def _after(one: AssociationFact, digits: int = 3) -> str:
    return "lost" if one.after is None else numbers.fixed(one.after, digits)


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
