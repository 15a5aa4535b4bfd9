"""Output of ``releasegate trace``: the verdict in a sentence, hits by recipient, and facts about the incident."""

from collections.abc import Iterator
from math import ceil, floor, log10

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flows.cli.tables import between, untitled_table
from flows.tracing import Traced
from tasks.decoys.tracing import Hits

_LIKELY = 0.1
_LEAST_WRITTEN_OUT = 1e-9
NOTHING = "Nothing points to any recipient."


def rendered(traced: Traced) -> Group:
    """The answer for the terminal; counts and column names only."""
    bold = bool(traced.trace.named or traced.trace.suspected)
    parts: list[RenderableType] = [Text(sentence, style="bold" if bold else "") for sentence in sentences(traced)]
    if traced.trace.hits:
        parts += [Text(), _hits(traced)]
    parts += [Text(), _rows(traced)]
    if unread := {name: number for name, number in traced.incident.unread.items() if number}:
        parts += [Text(), _unread(unread, traced)]
    parts += [Text(f"note: {note}") for note in notes(traced)]
    return Group(*parts)


def sentences(traced: Traced) -> list[str]:
    """The verdict: one sentence for each recipient that is named or suspected, the likeliest first."""
    found = traced.trace
    found_sentences = [
        _sentence(traced, hits) for hits in found.hits if hits.recipient in {*found.named, *found.suspected}
    ]
    return found_sentences or [NOTHING]


def _sentence(traced: Traced, hits: Hits) -> str:
    kept = f"{hits.kept_classes} of the {hits.of_kept} real classes that it alone keeps"
    weakly = "" if hits.recipient in traced.trace.named else ", but weakly"
    if hits.decoy_hits:
        also = f", and {kept} by {_number(traced, hits.kept_hits)}" if hits.kept_classes else ""
        verb = "was" if hits.decoy_classes == 1 else "were"
        alone = ", as a list of the people of one place may do" if weakly else ""
        what = f"{hits.decoy_classes} of its {hits.of_decoys} decoy classes {verb} hit by "
        what += f"{_number(traced, hits.decoy_hits)}{alone}{also}"
    else:
        what = f"no decoys were hit, and {kept} by {_number(traced, hits.kept_hits)}"
    points = f"Points to {hits.recipient}{weakly}: {what}"
    return f"{points}; the chance that an incident not from it hits as much is {chance(hits.chance)}."


def chance(probability: float) -> str:
    """A likelihood in words, never below what it is: “40 %”, “1 in 3,100”, “1 in 10^12”.

    >>> chance(0.396), chance(1 / 3149), chance(2.5e-13), chance(0.0)
    ('40 %', '1 in 3,100', '1 in 10^12', 'below 1 in 10^300')
    """
    if probability >= _LIKELY:
        return f"{ceil(100 * probability)} %"
    if probability <= 0:
        return "below 1 in 10^300"
    if probability < _LEAST_WRITTEN_OUT:
        return f"1 in 10^{floor(-log10(probability))}"
    one_in = floor(1 / probability)
    unit = int(10 ** max(len(str(one_in)) - 2, 0))
    return f"1 in {one_in // unit * unit:,}"


def notes(traced: Traced) -> Iterator[str]:
    """Limits of the result, and facts about the recipients in it."""
    if traced.without_population is not None:
        yield (
            f"decoys were compared with other recipients' alone, for {traced.without_population}; with the population "
            "as it was, fewer hits would name a recipient"
        )
    if traced.absent:
        yield f"no column of {', '.join(traced.absent)}: taken as unknown, so less can be told"
    if unknown := traced.table.unknown:
        yield f"{unknown:,} {'id is' if unknown == 1 else 'ids are'} missing or not in the register, and left out"
    if repeated := traced.table.repeated:
        yield f"{repeated:,} {'row repeats' if repeated == 1 else 'rows repeat'} an id; each person counts once"
    if traced.unmarked:
        yield f"without decoys, so that nothing can point to them: {', '.join(traced.unmarked)}"
    pointed = {*traced.trace.named, *traced.trace.suspected}
    for one in traced.undelivered:
        if one in pointed:
            yield f"{one} was never given its copy of this release: look at who else could read it"
    for one in traced.earlier:
        if one in pointed:
            yield f"{one} has copies of another version of this release"


def _hits(traced: Traced) -> Table:
    noun = _noun(traced)
    table = untitled_table(["recipient"], ["decoy\nclasses", noun, "kept\nclasses", noun, "chance"])
    for hits in traced.trace.hits:
        table.add_row(
            hits.recipient,
            f"{hits.decoy_classes} of {hits.of_decoys}",
            f"{hits.decoy_hits:,}",
            f"{hits.kept_classes} of {hits.of_kept}",
            f"{hits.kept_hits:,}",
            chance(hits.chance),
        )
    return table


def _rows(traced: Traced) -> Group:
    found = traced.trace
    single = found.total - found.ordinary - found.ambiguous - found.outside
    table = untitled_table([f"the incident's {_noun(traced)}"], [""])
    for words, number in (
        ("in decoys or kept classes of one recipient", single),
        ("ambiguous: of several recipients", found.ambiguous),
        ("ordinary: in real classes of several copies", found.ordinary),
        ("outside: in no class of any copy", found.outside),
        ("in all", found.total),
    ):
        table.add_row(words, f"{number:,}")
    level = chance(found.level)
    rule = f"A recipient is named where chance is {level} or less; by one decoy class or by kept classes alone, weakly."
    return between("What was looked at", table, rule)


def _unread(unread: dict[str, int], traced: Traced) -> Table:
    table = untitled_table(["column"], ["unreadable"])
    for name, number in unread.items():
        table.add_row(name, f"{number:,} of {traced.trace.total:,}")
    return table


def _noun(traced: Traced) -> str:
    return "rows" if traced.incident.kind == "rows" else "people"


def _number(traced: Traced, number: int) -> str:
    if number == 1:
        return "1 row" if traced.incident.kind == "rows" else "1 person"
    return f"{number:,} {_noun(traced)}"
