"""Records that a few of the released columns single out, in the file and in the population."""

from collections.abc import Iterator

from reports.model import numbers
from reports.model.document import DASH, Block, Facts, Paragraph, Row, Table, named, said, strong
from reports.model.record_view import FileView
from reports.model.smallcell import HIDDEN
from tasks.assessments.singling_out.facts import SinglingOutFact, UniquenessFact
from tasks.request.model import Measure, PopulationBasis

_SHOWN = 12
_OTHERS = {"as released": "as collected", "as collected": "as released"}
_MODELS = {"pitman": "Pitman", "zayatz": "Zayatz", "snb": "slide negative binomial"}


def singling_out(view: FileView, fact: SinglingOutFact) -> Iterator[Block]:
    """The part of the section on risk."""
    cells, total = view.cells, fact.records
    yield (
        f"An intruder may know any {numbers.integer(fact.columns)} of the columns below about a person, whichever they "
        "are. Every set of up to as many columns was searched for records that are alone in the released file by their "
        "values there: exactly all minimal sample uniques (Manning, Haglin and Keane 2008). "
        "Generalized values count as released, and a missing value counts as a value."
    )
    yield said(
        f"These released columns count, since they may be known: {named(fact.known) or 'none'}.",
        f"No probability of being known is stated for {named(fact.presumed)}; such columns count as known."
        if fact.presumed
        else None,
        f"Masked numbers count {fact.masked}, which singles out fewer records than {_OTHERS[fact.masked]}."
        if fact.masked
        else None,
    )
    yield Table(
        "Records singled out, by the columns of the smallest set that does so",
        "Smallest set 60 | Share of records 40r",
        [*_size_rows(view, fact), (strong("some set"), strong(cells.share(fact.share, total)))],
    )
    if fact.singled_out:
        yield Table(
            "Columns that single records out; their parts of the score overlap",
            "Column 34 | Part of the score 22r | Singled out with it 22r | Only with it 22r",
            [
                (
                    one.column,
                    numbers.percent(one.score_share),
                    cells.share(one.singled_out / total, total),
                    cells.share(one.needed / total, total),
                )
                for one in fact.by_column[:_SHOWN]
            ],
        )
        yield Paragraph(
            "Shares are of the records. Only with it: those that nothing would single out if the column were withheld. "
            "The score of a record adds up its sets, the smaller the more (Elliot et al. 2005); the highest is "
            f"{numbers.plain(fact.score_maximum)}. The probability of a correct match that score and sampling fraction "
            f"give a record is at most {numbers.risk(fact.dis_maximum)} (DIS-SUDA, Elliot and Manning 2003).",
            "note",
        )
    yield from _population(view, fact)


_FRACTIONS = {
    PopulationBasis.TABLE: "from the population table",
    PopulationBasis.TABLE_AND_FILE: "from the population table",
    PopulationBasis.FILE: "since everybody of the population is in the file",
    PopulationBasis.SAMPLE: "from the size of the population, as the request states it",
}


def _population(view: FileView, fact: SinglingOutFact) -> Iterator[Block]:
    sets = [one for one in (fact.worst, fact.together) if one is not None]
    source = "stated by the policy" if fact.declared_fraction else _FRACTIONS[view.basis]
    if fact.known_presence:
        source = "since others can know who is in the file: whoever is alone there is found"
    yield said(
        "A person who is alone in a sample need not be alone in the population. How many are alone is estimated from "
        "the file's classes and the sampling fraction, without a table of the population: by Pitman's "
        "model up to a fraction of 0.1, and beyond by the smaller of Zayatz's estimate and that of the slide negative "
        "binomial (Dankar et al. 2012).",
        "Estimates are for the set of columns by which most records are alone, and for all columns together.",
    )
    yield Facts([("Sampling fraction", f"{numbers.percent(fact.sampling_fraction)}, {source}")])
    yield Table(
        "Unique in the file, and estimated to be unique in the population",
        "By 24 | Unique in the file 12r | Correct match (DIS) 12r | Pitman 9r | Zayatz 9r | SNB 9r | Taken 25",
        [_row(view, one, fact.records, place) for place, one in enumerate(sets)],
    )
    gated = [one for one in (Measure.SINGLED_OUT, Measure.SINGLED_OUT_POPULATION) if one in view.gated]
    yield Paragraph(
        said(
            "Correct match: the probability that a person who matches a unique record of the file by these columns is "
            "the one it is of, if nobody knows who is in the file (Skinner and Elliot 2002). Whoever knows that a "
            "person is in the file, finds that person's record where it is unique in the file.",
            "An intruder who knows other columns of each person, whichever single that person out best, singles out "
            "more people than one who knows the same columns of everybody; no model estimates these.",
            None if gated else "No gate of the policy limits these figures.",
        ),
        "note",
    )


def _row(view: FileView, one: UniquenessFact, total: int, place: int) -> Row:
    estimates = (one.pitman, one.zayatz, one.snb)
    named = f"all {len(one.columns)} columns" if place else ", ".join(one.columns)
    return (
        named,
        view.cells.share(one.uniques / total, total),
        numbers.risk(one.correct_match),
        *(DASH if estimate is None else view.cells.share(estimate, total) for estimate in estimates),
        strong(f"{view.cells.share(one.population_share, total)}, {_MODELS[one.chosen]}"),
    )


def _size_rows(view: FileView, fact: SinglingOutFact) -> Iterator[Row]:
    """Shares by size, from which neither a small number of records follows nor a small rest."""
    sizes, rest = [one.singled_out for one in fact.by_size], fact.records - fact.singled_out
    shown = view.cells.breakdown([*sizes, rest] if view.cells.hides(rest) else sizes)
    for one, count in zip(fact.by_size, shown, strict=False):
        exact = count == numbers.integer(one.singled_out)
        yield _columns(one.columns), numbers.percent(one.singled_out / fact.records) if exact else HIDDEN


def _columns(count: int) -> str:
    return "one column" if count == 1 else f"{numbers.integer(count)} columns"
