"""What the README of Adult-TN says of request-game.yaml: groups, the price of one file, how sure approval is."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import qmc

from tasks.assessments.identity.uncertain.terms import RecipientTerm, is_drawn, quantiles, with_terms
from tasks.generalization.game.count_index import Generalization
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import follower_of, own_follower, weights_of
from tasks.request.load import load_request
from tasks.request.model import Measure
from tests.support import adult

README = " ".join((adult.EXAMPLE / "README.md").read_text(encoding="utf-8").split())
REQUEST = load_request(adult.EXAMPLE / "request-game.yaml").request
UNIVERSITY, OFFICE = REQUEST.recipients
SETS = 512


@cache
def shared() -> Generalization:
    """The one file for both."""
    people = adult.table().population.total
    return generalize(
        adult.table(), REQUEST.method_for(UNIVERSITY), follower_of(REQUEST, UNIVERSITY, people), weights_of(REQUEST)
    )


def test_groups_that_each_leaves_alone_and_that_one_file_for_both_has() -> None:
    people = adult.table().population.total
    sizes = [own_follower(REQUEST, one, people).safe_group for one in (UNIVERSITY, OFFICE)]
    assert [*sizes, shared().people.min()] == [5, 47, 47]
    assert "A fine of 10,000 would let the university have groups of five" in README
    assert "the office with its fine of 1,000 needs 47" in README
    assert "One file for both has groups of 47" in README


def test_what_one_file_for_both_costs() -> None:
    """The office's own file is the same, so that all of the price is the university's."""
    table, weights = adult.table(), weights_of(REQUEST)
    university, office = (own_follower(REQUEST, one, table.population.total) for one in (UNIVERSITY, OFFICE))
    own = generalize(table, REQUEST.method_for(UNIVERSITY), university, weights)
    records = table.data.counts / table.data.total
    alone, together = (
        records @ university.publisher(university.benefit * one.kept, one.people) for one in (own, shared())
    )
    assert f"costs the publisher {alone - together:.2f} units a record of the university's" in README
    assert office.safe_group == follower_of(REQUEST, OFFICE, table.population.total).safe_group


def test_both_are_approved() -> None:
    generalization, people = shared(), adult.table().population.total
    limits = {gate.measure: gate.threshold for gate in REQUEST.policy.gates}
    assert set(limits) == {Measure.TRANSPARENT_MAXIMUM, Measure.TRANSPARENT_ATTACKED, Measure.SEQUENTIAL_MAXIMUM}
    assert 1 / generalization.effective.min() <= limits[Measure.TRANSPARENT_MAXIMUM]
    for one in (UNIVERSITY, OFFICE):
        assert not own_follower(REQUEST, one, people).attacked(generalization.effective).any()
    assert "Both are approved." in README


@pytest.mark.slow
def test_how_often_the_offices_terms_let_its_gates_pass() -> None:
    """Spread evenly over what is known of loss and cost, with detection at its worst; groups of 47 decide."""
    assert OFFICE.uncertain is not None
    terms = {RecipientTerm(name): term for name, term in OFFICE.uncertain.given.items()}
    drawn = {term: one for term, one in terms.items() if is_drawn(one)}
    assert set(drawn) == {RecipientTerm.LOSS, RecipientTerm.COST}
    places = qmc.Sobol(len(drawn), seed=1).random(SETS)
    columns = {term: quantiles(one, places[:, at]) for at, (term, one) in enumerate(drawn.items())}
    worst, people = terms[RecipientTerm.DETECTION].ends[0], adult.table().population.total
    passed = 0
    for row in range(SETS):
        values = {term: float(column[row]) for term, column in columns.items()} | {RecipientTerm.DETECTION: worst}
        follower = own_follower(REQUEST, with_terms(OFFICE, values), people)
        passed += not follower.attacked(np.array([47]))[0]
    assert passed / SETS == pytest.approx(0.28, abs=0.01)
    assert "with loss and cost drawn and detection at its worst, its gates pass in 28 % of the draws" in README
