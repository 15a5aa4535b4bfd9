"""Each family of learned distances on a release: what it links, how it was learned, and what it cannot compare."""

from pathlib import Path

import numpy as np
import pytest

from tasks.assessments.linkage.families import DISTANCES, FamilyLearned, drawn_people, half_of, learn_family
from tasks.assessments.linkage.holdings import Holdings, holdings_of
from tasks.assessments.linkage.learning.family import Kind
from tasks.core.errors import ParameterError
from tests.support.numeric import drawn, masking, numeric_request
from tests.support.stages import candidate_of

SWAP = masking("rank-swapping", "dose", p=10)
GROUPS = masking("mdav", "income", "visits", k=3)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Holdings:
    loaded = numeric_request(tmp_path_factory.mktemp("families"), maskings=(SWAP, GROUPS), frame=drawn(60))
    return holdings_of(candidate_of(loaded))


def learned(held: Holdings, name: str) -> FamilyLearned:
    return learn_family(held, name, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("name", "kind", "parameters", "n_attributes"),
    [
        ("mean", Kind.WEIGHTED_MEAN, 6, 6),
        ("owa", Kind.OWA, 6, 6),
        ("choquet", Kind.CHOQUET, 63, 6),
        ("bilinear", Kind.BILINEAR, 6, 3),
        ("mahalanobis", Kind.MAHALANOBIS, 6, 3),
    ],
)
def test_a_family_learned(held: Holdings, name: str, kind: Kind, parameters: int, n_attributes: int) -> None:
    found = learned(held, name)
    assert (found.kind, found.parameters, len(found.attributes)) == (kind, parameters, n_attributes)
    assert sum(found.shares.values()) == pytest.approx(1)
    assert [one.n for one in (*found.equal, *found.learned)] == [30] * 4
    assert found.pairs == 30 * 60
    if name == "mahalanobis":
        assert found.certificate is None
    else:
        # Nothing is learned that links fewer of the people it was learned from, or more than the bound.
        assert found.certificate is not None
        assert found.certificate.found <= found.learned[0].expected_correct <= 30
        assert found.certificate.found <= found.certificate.upper_bound <= 30
        assert 0 < found.certificate.rivals <= found.pairs
        assert found.learned[0].expected_correct >= found.equal[0].expected_correct - 1e-9
    document = found.document()
    assert document["learned"]["out_of_sample"]["share"] == found.learned[1].share_correct
    assert document["equal"]["in_sample"]["people"] == 30


def test_richer_families_link_no_fewer_of_the_people_they_were_learned_from(held: Holdings) -> None:
    mean, choquet = (learned(held, name).learned[0].expected_correct for name in ("mean", "choquet"))
    bilinear, mahalanobis = (learned(held, name).learned[0].expected_correct for name in ("bilinear", "mahalanobis"))
    assert choquet >= mean
    assert bilinear >= mahalanobis


def test_the_people_are_drawn_once_and_halved(held: Holdings) -> None:
    people = drawn_people(held, np.random.default_rng(1))
    assert people.tolist() == list(range(60))
    half = half_of(people, np.random.default_rng(1))
    assert len(half) == len(set(half.tolist())) == 30
    assert list(DISTANCES) == ["mean", "owa", "choquet", "bilinear", "mahalanobis"]


@pytest.mark.parametrize(
    ("known", "name"), [({"age"}, "mean"), ({"age", "dose"}, "bilinear"), ({"age", "sex"}, "mahalanobis")]
)
def test_too_few_attributes(held: Holdings, known: set[str], name: str) -> None:
    with pytest.raises(ParameterError, match="too little to learn"):
        learned(held.only(known), name)


def test_too_few_records(tmp_path: Path) -> None:
    few = holdings_of(candidate_of(numeric_request(tmp_path, maskings=(SWAP,), frame=drawn(39))))
    with pytest.raises(ParameterError, match="40 released records"):
        learned(few, "mean")
