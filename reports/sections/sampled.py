"""Risk in the population that a file is a random sample of."""

from collections.abc import Iterator

from reports import numbers
from reports.document import DASH, Block, Paragraph, Table, strong
from reports.record_view import RecordView
from tasks.assessments.identity.facts import EstimateFact, SampleFact

_MODELS = {"pitman": "Pitman", "zayatz": "Zayatz", "snb": "slide negative binomial"}


def sampled(view: RecordView, fact: SampleFact) -> Iterator[Block]:
    """The released records in the population that the file is a random sample of: limits, estimates and intervals."""
    write, cells, total, found = numbers.risk, view.cells, view.released, fact.uniques
    models = (found.pitman, found.zayatz, found.snb)
    shown = [DASH if one is None else cells.share(one, total) for one in models]
    low, high = (cells.share(one, total) for one in (found.estimate.interval.low, found.estimate.interval.high))
    yield Table(
        "Risk of the released records in the sampled population; gates use the upper ends",
        "Figure 40 | Estimate 22r | Interval (95%) 26r",
        [
            (
                "Journalist, highest: 1 over the people of the class that has fewest",
                DASH,
                strong(f"at most {write(fact.maximum_risk)}"),
            ),
            ("Journalist, mean", write(fact.mean_risk.figure), _between(fact.mean_risk)),
            (
                f"Records that are unique in the population, {_MODELS[found.chosen]}",
                cells.share(found.estimate.figure, total),
                f"{low} to {high}" if low != high else low,
            ),
        ],
    )
    yield Paragraph(
        f"The file is taken to be a simple random sample of {numbers.integer(fact.people)} people, "
        f"{numbers.percent(fact.fraction)} of them. Limits of the people of a class follow from the draw alone, with "
        f"binomial tails for hypergeometric ones (Uhlmann 1966), and hold of all {fact.cells:,.0f} cells of all "
        "strategies at once, so that the choice of cells by the same sample changes nothing. The class with fewest has "
        f"at least {cells.count(fact.least_people)} people. The mean is estimated with people negative binomial given "
        "the records (Benedetti and Franconi 1998); its interval does not rest on that. Unique records: Pitman "
        f"{shown[0]}, Zayatz {shown[1]}, slide negative binomial {shown[2]}, chosen as Dankar et al. (2012) do; none "
        f"exceeds the {cells.share(found.alone, total)} that are alone in the copy. Their interval is that of a "
        "jackknife over twentieths of the records: of sampling, not of the model.",
        "note",
    )


def _between(fact: EstimateFact) -> str:
    return f"{numbers.risk(fact.interval.low)} to {numbers.risk(fact.interval.high)}"
