"""The words of a determination for people counted in a table, in a file that is its population, or in a sample."""

import html

import numpy as np
import pytest

from reports.determination import determination, evidence
from reports.model.population import TITLES
from reports.templating import document_html
from tasks.assessments.identity.sampled import Sample, sample_fact
from tasks.decision.record import DecisionRecord
from tasks.request.model import PopulationBasis
from tests.support.records import approved, changed

CLASSES = np.array([12, 1])
SAID = {
    PopulationBasis.TABLE: ("rests on</b> a population table of", "Against the one population table of this document"),
    PopulationBasis.TABLE_AND_FILE: (
        "a population table of 6,339,942 people, which lacks sex, on the file's own counts by these",
        "A class defined by sex has at least the people who are counted",
    ),
    PopulationBasis.FILE: (
        "the 6,339,942 people of the file alone, who count as the whole population",
        "an exact count over the file, which is its own population",
        "Against the file, which is its own population",
    ),
    PopulationBasis.SAMPLE: (
        "who are assumed to be a random sample of 9,000,000, as the request states",
        "All other risks count the file's people alone",
        "Risk of the released records in the sampled population",
        "Uhlmann W (1966)",
    ),
}


def on(basis: PopulationBasis) -> DecisionRecord:
    """The approved record with its people counted otherwise."""
    record, sampled = approved(), basis is PopulationBasis.SAMPLE
    assert record.risk is not None
    size = 9_000_000 if sampled else None
    lacks = ("sex",) if basis is PopulationBasis.TABLE_AND_FILE else ()
    sample = Sample(record.dataset.rows_in, 9_000_000, 100.0)
    fact = sample_fact(sample, CLASSES, CLASSES, CLASSES, np.random.default_rng(1)) if sampled else None
    return changed(
        record,
        population=record.population.model_copy(update={"basis": basis, "size": size, "lacks": lacks}),
        risk=record.risk.model_copy(update={"sample": fact}),
    )


@pytest.mark.parametrize("basis", PopulationBasis)
def test_each_population_is_named_for_what_it_is(basis: PopulationBasis) -> None:
    record = on(basis)
    documents = [document_html(one(record)) for one in (determination, evidence)]
    text = " ".join(html.unescape(" ".join(documents)).split())
    for words in (TITLES[basis], *SAID[basis]):
        assert words in text
    for other in {PopulationBasis.FILE, PopulationBasis.SAMPLE} - {basis}:
        assert not any(words in text for words in SAID[other])
