"""Sentences on the groups of the quasi-identifiers: one grouping for all records, or several that overlap."""

from reports.model import numbers
from reports.model.methods import method_text
from reports.model.record_view import RecordView
from tasks.core.plural import listed, plural
from tasks.request.model import Role


def one_grouping(view: RecordView) -> str | None:
    """Sentence on the grouping of each column; None where records differ in it, or nothing is grouped."""
    kept = []
    for field in view.fields(Role.QUASI) if is_alike(view) else ():
        level = max((level for level, records in enumerate(field.records_per_level) if records), default=0)
        whole = not field.levels or field.levels[level] == "as collected"
        groups = 0 if whole else field.groups_released or field.groups_per_level[level]
        if groups != 1:
            kept.append(f"{field.name} as collected" if whole else f"{field.name} in {numbers.integer(groups)} groups")
    if not kept:
        return None
    without, classes = "", view.risk.game.suppressed_classes
    if view.released < view.rows_in:
        without = ", without the records left out"
        if classes and not view.few_suppressed:
            without = (
                f", but for {plural(classes, 'combination')} of groups that {'is' if classes == 1 else 'are'} left out "
                "(left-out.csv, beside the copy, lists those of groups that occur in it)"
            )
    return (
        f"Each column has one grouping, the same for all records: {listed(kept)}. Counts by these groups are those of "
        f"the file as collected{without}."
    )


def gone(view: RecordView) -> list[str]:
    """Quasi-identifiers of which every record has “*”."""
    return [
        one.name
        for one in view.fields(Role.QUASI)
        if one.records_per_level and one.groups_per_level[-1] == 1 and not any(one.records_per_level[:-1])
    ]


def begins_above(view: RecordView, name: str | None) -> bool:
    """Whether no value of a quasi-identifier, or of one of them, may leave as collected."""
    fields = (one for one in view.fields(Role.QUASI) if name in (None, one.name))
    return any(one.levels[:1] not in ((), ("as collected",)) for one in fields)


def is_alike(view: RecordView) -> bool:
    """Whether all records have one strategy."""
    game = view.risk.game
    return method_text(game.method).common and not (game.k_anonymity and game.k_anonymity.local_recoding)


def overlapping(view: RecordView) -> str | None:
    """Sentence on columns whose values stand in groups of several widths; None where there are none."""
    names = mixed(view)
    if not names:
        return None
    return (
        f"Groups of {listed(names)} overlap: a value may be in a narrow one in one record and in a wide one in another "
        "(47 in 45-49 and in 40-59), each as narrow as the people who are alike allow."
    )


def mixed(view: RecordView) -> list[str]:
    """Quasi-identifiers whose values stand in groups of several widths, as far as no small count shows."""
    names = []
    for field in () if is_alike(view) else view.fields(Role.QUASI):
        told = field.records_per_level if field.groups_per_level[-1] > 1 else field.records_per_level[:-1]
        if sum(records >= view.cells.limit for records in told) > 1:
            names.append(field.name)
    return names
