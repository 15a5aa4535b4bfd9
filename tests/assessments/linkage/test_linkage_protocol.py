"""The protocol of Torra 2016, slide 62: the first i attributes, mean over i = 1…6, values that are skipped kept."""

import numpy as np
import pytest

from tasks.assessments.linkage.problem.files import distance_linkage
from tasks.assessments.linkage.within import rank_swap_linkage
from tasks.masking.rank_swapping import RankSwapping, Reading
from tests.reference.linkage_means import mean_share
from tests.reference.partial_knowledge import attack_under, first_attributes
from tests.support.casc_tables import KNOWN, casc_table

SEEDS = 3
# Share of correct links in percent by intersection and by distance alone, as expected for this protocol.
EXPECTED = {
    ("census", 2): (76.1, 72.7),
    ("census", 6): (54.0, 46.1),
    ("census", 10): (31.1, 25.4),
    ("census", 14): (17.7, 15.6),
    ("census", 20): (10.3, 10.0),
    ("eia", 2): (32.5, 24.9),
    ("eia", 6): (7.7, 6.9),
    ("eia", 20): (5.2, 5.2),
}
QUICK = {("census", 2), ("census", 20), ("eia", 2)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "p"), [pytest.param(*case, marks=[] if case in QUICK else pytest.mark.slow) for case in EXPECTED]
)
def test_intersection_and_distance_on_the_reference_files(name: str, p: int) -> None:
    original = casc_table(name)[:, :KNOWN]
    window, known = RankSwapping(p).ranks(len(original)), [first_attributes(i + 1) for i in range(KNOWN)]
    shares = []
    for seed in range(SEEDS):
        masked = RankSwapping(p, Reading.SKIP).mask(original, np.random.default_rng(seed)).values
        inside = attack_under(lambda files: rank_swap_linkage(files, window), original, masked, known)
        alone = attack_under(distance_linkage, original, masked, known)
        shares.append((mean_share(inside), mean_share(alone)))
    assert np.mean(shares, axis=0) * 100 == pytest.approx(EXPECTED[name, p], abs=2)
