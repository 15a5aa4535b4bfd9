"""Record linkage attacks: the table of Torra 2016, slide 62, stronger intruders, and the time of large files."""

from collections.abc import Callable

import numpy as np

from tasks.assessments.linkage.probabilistic import probabilistic_linkage
from tasks.assessments.linkage.problem.figure import Floats, Linkage
from tasks.assessments.linkage.problem.files import EVERYTHING, Files, Knowledge, distance_linkage, files_to_link
from tasks.assessments.linkage.within import rank_swap_linkage, simulated_displacement
from tasks.masking.microaggregation import IndividualRanking, Mdav
from tasks.masking.noise import AdditiveNoise, CorrelatedNoise
from tasks.masking.rank_swapping import BucketSwapping, RankSwapping, Reading
from tests.benchmarks.adult import best_of
from tests.benchmarks.record import Benchmark, Row
from tests.reference.knowing_attacks import joint_noise_linkage, joint_rank_swap_linkage, noise_linkage
from tests.reference.linkage_means import mean_share
from tests.reference.microaggregation_attacks import bracketing_linkage, rerun_linkage
from tests.reference.partial_knowledge import attack_under, first_attributes
from tests.support.blocks import masked_in_blocks
from tests.support.casc_tables import KNOWN, casc_table

_SEEDS = 3
# Percent of correct links, slide 62: RSLD, DLD, PLD
_PRINTED = {
    ("census", 2): (77.73, 73.52, 71.28),
    ("census", 6): (54.65, 43.76, 22.49),
    ("census", 10): (29.21, 23.64, 6.03),
    ("census", 14): (16.14, 15.63, 2.06),
    ("census", 20): (10.88, 10.87, 0.59),
    ("eia", 2): (43.27, 21.71, 16.85),
    ("eia", 6): (7.69, 7.40, 2.03),
    ("eia", 10): (5.60, 5.19, 0.69),
    ("eia", 14): (5.28, 4.55, 0.32),
    ("eia", 20): (5.15, 4.36, 0.18),
}


def run() -> Benchmark:
    """The protocol's table, attacks by method, and seconds."""
    return {
        "name": "linkage",
        "title": "Record linkage attacks on masked numeric files",
        "rows": _protocol() + _one_by_one_and_joint() + _microaggregation() + _noise() + _times(),
        "note": "protocol: skip masking, first 1 to 6 attributes, three seeds; percent are of records linked correctly",
    }


def _generator(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def _percent(figure: str, ours: float, paper: float | None = None) -> Row:
    return Row(figure=figure, ours=round(100 * ours, 2), paper=paper, unit="%")


def _protocol() -> list[Row]:
    rows = []
    for (name, p), printed in _PRINTED.items():
        original = casc_table(name)[:, :KNOWN]
        window = RankSwapping(p).ranks(len(original))
        attacks: dict[str, Callable[[Files], Linkage]] = {
            "intersection": lambda files, window=window: rank_swap_linkage(files, window),  # type: ignore[misc]
            "distance": distance_linkage,
            "probabilistic": probabilistic_linkage,
        }
        known = [first_attributes(i + 1) for i in range(KNOWN)]
        masked = [RankSwapping(p, Reading.SKIP).mask(original, _generator(seed)).values for seed in range(_SEEDS)]
        for (attack, link), paper in zip(attacks.items(), printed, strict=True):
            shares = [mean_share(attack_under(link, original, table, known)) for table in masked]
            rows.append(_percent(f"{name} rs {p}: {attack}", float(np.mean(shares)), paper))
    return rows


def _one_by_one_and_joint() -> list[Row]:
    rows = []
    original = casc_table("census")[:, :KNOWN]
    n = len(original)
    for reading in (Reading.PAIR, Reading.SKIP):
        for p in (6, 10, 14, 20):
            method, window = RankSwapping(p, reading), RankSwapping(p).ranks(n)
            files = files_to_link(original, method.mask(original, _generator()).values)
            moves = simulated_displacement(method, n)
            name = f"census, 6 attributes, {reading.value} {p}"
            rows += [
                _percent(f"{name}: distance", distance_linkage(files).share_correct),
                _percent(f"{name}: intersection", rank_swap_linkage(files, window).share_correct),
                _percent(f"{name}: intersection, everybody at once", _joint(files, window)),
                _percent(f"{name}: the same, moves known", joint_rank_swap_linkage(files, window, moves).share_correct),
            ]
    buckets = BucketSwapping(20)
    files = files_to_link(original, buckets.mask(original, _generator()).values)
    moves = simulated_displacement(buckets, n)
    rows += [
        _percent("census, 6 attributes, 20 buckets: distance", distance_linkage(files).share_correct),
        _percent(
            "census, 6 attributes, 20 buckets: everybody at once, moves known",
            joint_rank_swap_linkage(files, None, moves).share_correct,
        ),
    ]
    return rows


def _joint(files: Files, window: int) -> float:
    return joint_rank_swap_linkage(files, window).share_correct


def _microaggregation() -> list[Row]:
    original, rows = casc_table("census")[:, :KNOWN], []
    ranked = IndividualRanking(3).mask(original, _generator()).values
    for known in (2, 3):
        files = files_to_link(original, ranked, Knowledge(attributes=tuple(range(known))))
        rows.append(_percent(f"individual ranking k 3, {known} attributes", bracketing_linkage(files).share_correct))
    masked = masked_in_blocks(original, [(2, 25)] * 3)
    files = files_to_link(original, masked)

    def remask(values: Floats, block: int) -> Floats:  # noqa: ARG001
        return Mdav(25, standardised=False).mask(values, _generator()).values

    again = rerun_linkage(files, [(0, 1), (2, 3), (4, 5)], remask)
    rows.append(_percent("MDAV 2+2+2, k 25: distance", distance_linkage(files).share_correct))
    rows.append(_percent("MDAV 2+2+2, k 25: run again", again.share_correct))
    return rows


def _noise() -> list[Row]:
    rows = []
    original = casc_table("census")[:, :KNOWN]
    for method, correlated in ((AdditiveNoise(0.1), False), (CorrelatedNoise(0.1), True)):
        files = files_to_link(original, method.mask(original, _generator()).values)
        name = f"{'correlated' if correlated else 'additive'} noise, k 0.1"
        informed = noise_linkage(files, 0.1, correlated=correlated)
        everybody = joint_noise_linkage(files, 0.1, correlated=correlated)
        rows += [
            _percent(f"{name}: distance", distance_linkage(files).share_correct),
            _percent(f"{name}: k known", informed.share_correct),
            _percent(f"{name}: k known, everybody at once", everybody.share_correct),
        ]
    return rows


def _correlated_table(n: int, attributes: int) -> Floats:
    rng = _generator(0)
    factors = rng.standard_normal((n, 3)) @ rng.standard_normal((3, attributes))
    return factors + 0.5 * rng.standard_normal((n, attributes))


def _times() -> list[Row]:
    rows = []
    for n, attributes, repeats in ((32_561, 6, 5), (32_561, 13, 2), (1_000_000, 6, 1)):
        original = _correlated_table(n, attributes)
        files = files_to_link(original, original + 0.2 * _generator(1).standard_normal(original.shape), EVERYTHING)
        seconds, _ = best_of(repeats, lambda files=files: distance_linkage(files))
        rows.append(Row(figure=f"distance, {n:,}², {attributes} attributes", ours=seconds, unit="s"))
    original = _correlated_table(32_561, 6)
    for p in (2, 10):
        files = files_to_link(original, RankSwapping(p).mask(original, _generator()).values)
        window = RankSwapping(p).ranks(len(original))
        seconds, _ = best_of(1, lambda files=files, window=window: rank_swap_linkage(files, window))
        rows.append(Row(figure=f"intersection, 32,561², 6 attributes, pair {p}", ours=seconds, unit="s"))
    return rows
