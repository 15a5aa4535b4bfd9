"""Intruders who know less: p from above alone, a few individuals, columns that they have to match themselves."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from tasks.assessments.linkage.facts import LinkageFact, gate_figures
from tasks.assessments.linkage.problem.files import Files, distance_linkage
from tasks.assessments.linkage.weaker import other_schema_linkage
from tests.support.numeric import drawn, masking, numeric_request
from tests.support.stages import made
from tests.support.tiny import changed

SWAP = masking("rank-swapping", "dose", "income", p=10)


def attacked(folder: Path, *maskings: dict[str, Any], **terms: Any) -> LinkageFact:
    linkage = changed("policy", "linkage", to={"learned": False} | terms)
    return made(numeric_request(folder, linkage, maskings=maskings, frame=drawn(300))).attacked(methods=())


@pytest.mark.slow
def test_who_knows_p_from_above_alone_finds_fewer(tmp_path: Path) -> None:
    """With p itself as the bound as many as with p; gates judge who knows p."""
    shares = []
    for bound in (None, 10, 40, 100):
        fact = attacked(tmp_path, SWAP, p_at_most=bound)
        shares.append({one.title: one.figure.share for one in fact.weaker if "p is at most" in one.title})
        assert gate_figures(fact) == gate_figures(attacked(tmp_path, SWAP))
    assert shares[0] == {}
    exact = [fact.attack(f"numbers-{name}").figure.share for name in ("candidates", "joint")]
    assert list(shares[1].values()) == pytest.approx(exact)
    for wider in shares[2:]:
        assert sum(wider.values()) < sum(exact)


def test_a_bound_below_p_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="p_at_most"):
        attacked(tmp_path, SWAP, p_at_most=5)


def test_columns_of_other_names_and_units_are_matched_by_their_distributions() -> None:
    rng = np.random.default_rng(3)
    original = np.column_stack([rng.lognormal(0, 1, 400), rng.standard_normal(400), rng.integers(0, 3, 400)])
    masked = original + 0.1 * original.std(axis=0) * rng.standard_normal(original.shape)
    straight = distance_linkage(Files(original, masked, np.arange(400), ("a", "b", "c")))
    other = masked[:, [2, 0, 1]] * [1000, 0.3, 7] + [5, 0, -1]
    assert other_schema_linkage(Files(original, other, np.arange(400), ("a", "b", "c"))) == straight


def test_who_holds_a_few_individuals_is_shown(tmp_path: Path) -> None:
    fact = attacked(tmp_path, SWAP)
    assert [one.title.split(",")[0] for one in fact.weaker] == [
        "Holds 150 individuals alone",
        "Holds columns of other names and units",
    ]
    assert fact.weaker[0].figure.people == 150
    assert attacked(tmp_path).weaker == ()
