"""What the sequential adversary and the combined score find of the sample records.

Curves and thresholds are the model's own; the beliefs follow from them and from the groups given here.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit, logit

from tasks.adversary.fmdp import (
    baseline_risk,
    exploits_made,
    known_threshold,
    reidentification_probability,
    sink_probability,
)
from tasks.adversary.profile import AdversaryProfile
from tasks.assessments.combined.facts import CombinedFact, Contribution, ScoreFigure
from tasks.assessments.sequential.facts import (
    AdversaryFact,
    BeliefFact,
    CurvePoint,
    DeterrentFact,
    ExternalFact,
    PatienceFact,
    SensitivityFact,
    SensitivityPoint,
    SequentialFact,
)
from tasks.core.fact import Bin

Groups = tuple[tuple[int, int], ...]

DETERRED = AdversaryProfile(
    gain=300.0,
    penalty=2000.0,
    access_cost=25.0,
    link_cost=0.0,
    exploit_cost=4.0,
    prior=0.63,
    detection_intercept=float(logit(0.005)),
    detection_slope=0.0,
    max_penalties=1,
    discount=0.9,
)
"""The recipient of the approved sample: an agreement with a penalty, a fee for the register."""
CASE_STUDY = AdversaryProfile(
    gain=8000.0,
    penalty=10_000.0,
    access_cost=100.0,
    link_cost=0.0,
    exploit_cost=10.0,
    prior=0.63,
    detection_intercept=-4.59,
    detection_slope=0.18,
    max_penalties=None,
    discount=0.9,
)
"""The case study of Xia et al. (2015), section 7.2, with detection that grows."""
UNDETERRED = AdversaryProfile(
    gain=300.0,
    penalty=0.0,
    access_cost=0.0,
    link_cost=0.0,
    exploit_cost=4.0,
    prior=0.99,
    detection_intercept=float(logit(0.01)),
    detection_slope=0.0,
    max_penalties=1,
    discount=0.9,
)
"""The stakes of the approved sample without a penalty and with the population at hand."""
EDGES = (0, *(step * 10**power for power in range(6) for step in (1, 2, 5)))
SCORE_EDGES = (0.0, *(float(f"{step}e{power}") for power in range(-6, 2) for step in (1, 2, 5)))
_SCORED_BEFORE = (*(0,) * 10, 11, 40, 216, 905, 3_104, 6_110, 8_034, 7_215, 5_901, 1_019, 6)
_SCORED_AFTER = (*(0,) * 8, 14, 160, 1_108, 3_506, 7_208, 8_411, 6_020, 3_715, 1_606, 540, 225, 45, 3)
_AS_COLLECTED: Groups = (
    (1, 620), (2, 701), (4, 1_184), (8, 1_906), (13, 2_211), (21, 3_180), (34, 4_120), (60, 6_011), (120, 6_804),
    (300, 4_380), (900, 1_044), (2_500, 400),
)  # fmt: skip
_PARTITIONED: Groups = (
    (47, 2_304), (52, 3_150), (66, 4_811), (90, 5_966), (150, 6_420), (310, 5_702), (800, 3_208), (3_000, 1_000),
)  # fmt: skip
_BY_RECORD: Groups = (
    (1, 45), (2, 103), (4, 874), (8, 1_904), (13, 2_280), (21, 3_211), (34, 4_220), (60, 6_104), (120, 6_902),
    (300, 4_487), (900, 1_990), (2_500, 441),
)  # fmt: skip
_ORIGINS = {
    "gain": "stakes: gain",
    "penalty": "agreement",
    "access_cost": "adversary, as declared",
    "link_cost": "none",
    "exploit_cost": "stakes: cost of an attempt",
    "prior": "people in the register over people in the population",
    "detection_intercept": "agreement",
    "detection_slope": "default: as likely at every attempt",
    "max_penalties": "agreement: the first breach ends it",
    "discount": "default",
    "confirmation": "default: a right match is recognised",
}
_REGISTER = ("Voter registration list of the state", "8d1f" * 16, 3_994_163)
_TERMS: dict[str, tuple[float, ...]] = {
    "access_cost": tuple(float(value) for value in np.linspace(0, 200, 25)),
    "exploit_cost": tuple(float(value) for value in np.geomspace(0.5, 200, 25)),
    "penalty": (0.0, *(float(value) for value in np.geomspace(100, 100_000, 24))),
    "detection": tuple(float(value) for value in np.geomspace(0.0005, 0.5, 25)),
}
_NEEDED = {
    DETERRED: (0.0, 0.0, 21.85490090909909, 5.266937304541481e-05),
    CASE_STUDY: (10_485_701.23671945, 4445.5426750442, 500_346.4343472419, 0.5028888888883849),
    UNDETERRED: (703.9521114859974, 4.042803698360224, 5.120804783696412, None),
}


@cache
def deterred() -> SequentialFact:
    """Nobody attacks: the file's smallest group is past both thresholds."""
    return _sequential(DETERRED, _AS_COLLECTED, _PARTITIONED)


@cache
def attacked() -> SequentialFact:
    """The case study on a file with groups of every size: some are tried to the end, some in part, some not."""
    declared = ("gain", "penalty", "exploit_cost", "detection_intercept", "detection_slope", "max_penalties")
    return _sequential(
        CASE_STUDY, _AS_COLLECTED, _BY_RECORD, {**_ORIGINS, **dict.fromkeys(declared, "adversary, as declared")}
    )


@cache
def undeterred() -> SequentialFact:
    """One attempt does not pay on any record, a series of them does on many."""
    origins = {
        **_ORIGINS,
        "penalty": "no penalty in the agreement",
        "detection_intercept": "no penalty in the agreement",
        "access_cost": "none: the external data are assumed to be at hand",
        "prior": "default: nearly everybody is assumed to be in the external data",
    }
    after = tuple((round(size / 0.63), records) for size, records in _PARTITIONED)
    return _sequential(UNDETERRED, _AS_COLLECTED, after, origins, register=False)


def with_beliefs(fact: SequentialFact, **changes: Any) -> SequentialFact:
    """The fact with other figures under every belief, before and after."""
    return fact.model_copy(
        update={
            "initial": tuple(one.model_copy(update=changes) for one in fact.initial),
            "residual": tuple(one.model_copy(update=changes) for one in fact.residual),
        }
    )


def _sequential(
    profile: AdversaryProfile,
    before: Groups,
    after: Groups,
    origins: Mapping[str, str] = _ORIGINS,
    *,
    register: bool = True,
) -> SequentialFact:
    sizes = np.array([size for size, _ in after])
    known, linked = _thresholds(profile)
    last = 60 if linked is None else int(1.15 * linked) + 3
    curve = np.arange(1, last + 1)
    tried = exploits_made(profile, curve)
    baseline = baseline_risk(profile, sizes)
    records = np.array([count for _, count in after])
    source, sha256, people = _REGISTER if register else ("2010 Census counts by ZIP code", None, 6_276_543)
    return SequentialFact(
        profile=AdversaryFact(**dataclasses.asdict(profile), origins=dict(origins)),
        external=ExternalFact(
            kind="register" if register else "population", source=source, sha256=sha256, people=people
        ),
        threshold_known=known,
        threshold_linked=linked,
        exhausted_below=next((int(size) for size, made in zip(curve, tried, strict=True) if made < size), None),
        smallest_group=int(sizes.min()),
        largest_group=int(sizes.max()),
        initial=_beliefs(profile, before),
        residual=_beliefs(profile, after),
        judged="access shared",
        baseline_maximum=float(baseline.max()),
        baseline_attacked_share=float(records[baseline > 0].sum() / records.sum()),
        group_sizes=_histogram(after),
        curve=tuple(
            CurvePoint(size=int(size), known=float(one), linked=float(other), exploits=float(made))
            for size, one, other, made in zip(
                curve,
                reidentification_probability(profile, curve),
                sink_probability(profile, curve),
                tried,
                strict=True,
            )
        ),
        sensitivity=tuple(_sensitivity(profile, term, values) for term, values in _TERMS.items()),
        patience=tuple(_patience(profile, discount, sizes, records) for discount in (0.5, 0.9, 1.0)),
        deterrents=_deterrents(profile),
    )


def _patience(profile: AdversaryProfile, discount: float, sizes: Any, records: Any) -> PatienceFact:
    moved = dataclasses.replace(profile, discount=discount)
    one = _belief("access shared", sink_probability(moved, sizes), exploits_made(moved, sizes), records)
    figures = one.model_dump(include=set(PatienceFact.model_fields))
    return PatienceFact(discount=discount, threshold_linked=_thresholds(moved)[1], **figures)


def _changed(profile: AdversaryProfile, term: str, value: float) -> AdversaryProfile:
    if term == "detection":
        return dataclasses.replace(profile, detection_intercept=float(logit(value)))
    return dataclasses.replace(profile, **{term: value})


def _own(profile: AdversaryProfile, term: str) -> float:
    return float(expit(profile.detection_intercept)) if term == "detection" else float(getattr(profile, term))


def _thresholds(profile: AdversaryProfile) -> tuple[int | None, int | None]:
    return known_threshold(profile), known_threshold(dataclasses.replace(profile, access_cost=0.0))


def _sensitivity(profile: AdversaryProfile, term: str, values: Sequence[float]) -> SensitivityFact:
    points = []
    for value in values:
        known, linked = _thresholds(_changed(profile, term, value))
        points.append(SensitivityPoint(value=value, known_threshold=known, linked_threshold=linked))
    return SensitivityFact.model_validate({"term": term, "own": _own(profile, term), "points": tuple(points)})


def _deterrents(profile: AdversaryProfile) -> tuple[DeterrentFact, ...]:
    """What each term would have to be at the file's smallest group, worked out once by bisection."""
    needed = dict(zip(_TERMS, _NEEDED[profile], strict=True))
    return tuple(
        DeterrentFact.model_validate({"term": term, "current": _own(profile, term), "needed": needed[term]})
        for term in _TERMS
    )


def _beliefs(profile: AdversaryProfile, groups: Groups) -> tuple[BeliefFact, ...]:
    sizes, records = (np.array(column) for column in zip(*groups, strict=True))
    tried = exploits_made(profile, sizes)
    known, shared = reidentification_probability(profile, sizes), sink_probability(profile, sizes)
    unknown = np.where(np.arange(len(sizes)) % 2, known, shared)
    named = (("known group", known), ("unknown group", unknown), ("access shared", shared))
    return tuple(_belief(name, risks, tried, records) for name, risks in named)


def _belief(name: str, risks: Any, tried: Any, records: Any) -> BeliefFact:
    total, attacked = int(records.sum()), risks > 0
    return BeliefFact.model_validate(
        {
            "belief": name,
            "maximum_risk": float(risks.max()),
            "mean_risk": float(records @ risks / total),
            "attacked_share": float(records[attacked].sum() / total),
            "attacked_records": int(records[attacked].sum()),
            "expected_reidentifications": float(records @ risks),
            "expected_exploits": float((records * tried)[attacked].sum() / total),
        }
    )


def _histogram(groups: Groups) -> tuple[Bin, ...]:
    counts = [sum(records for size, records in groups if low < size <= high) for low, high in _intervals()]
    last = max(place for place, count in enumerate(counts) if count) + 1
    return tuple(
        Bin(low=low, high=high, records=count)
        for (low, high), count in zip(_intervals()[:last], counts[:last], strict=True)
    )


def _intervals() -> list[tuple[int, int]]:
    return list(itertools.pairwise(EDGES))


def combined(*, exclusive: bool = False, epsilon: float | None = 0.01) -> CombinedFact:
    """Quasi-identifiers known nearly always, work at times; income the most sensitive."""
    return CombinedFact(
        alpha=1.0,
        epsilon=epsilon,
        exclusive=exclusive,
        threshold=1.0,
        quantile=0.99,
        known_probabilities={"age": 0.9, "zip": 0.8, "race": 0.7, "sex": 1.0, "occupation": 0.3, "workclass": 0.3},
        sensitivities={
            "workclass": 0.2,
            "occupation": 0.3,
            "capital-gain": 0.8,
            "capital-loss": 0.8,
            "salary-class": 1,
        },
        known_sets=52,
        initial=_scores(4.412, 1.613, 0.2716, _SCORED_BEFORE),
        residual=_scores(2.871, 0.4813, 0.0382, _SCORED_AFTER),
        presumed=(),
        expected=0.0412,
        by_known_set=tuple(
            Contribution(attributes=names, share=share)
            for names, share in (
                (("age", "zip", "race", "sex"), 0.3214),
                (("age", "zip", "sex", "occupation"), 0.1820),
                (("age", "zip", "race", "sex", "occupation"), 0.1377),
                (("age", "zip", "sex"), 0.0902),
                (("age", "zip", "race", "sex", "occupation", "workclass"), 0.0641),
                (("zip", "sex", "occupation"), 0.0310),
                (("zip", "sex"), 0.0077),
                ((), 0.00001),
            )
        ),
        by_attribute=tuple(
            Contribution(attributes=(name,), share=share)
            for name, share in (
                ("salary-class", 0.5522),
                ("capital-gain", 0.1877),
                ("occupation", 0.1403),
                ("capital-loss", 0.0811),
                ("workclass", 0.0387),
            )
        ),
    )  # fmt: skip


def _scores(maximum: float, quantile: float, mean: float, counts: Sequence[int]) -> ScoreFigure:
    intervals = zip(SCORE_EDGES[:-1], SCORE_EDGES[1:], counts, strict=False)
    above = sum(count for low, count in zip(SCORE_EDGES, counts, strict=False) if low >= 1.0)
    return ScoreFigure(
        maximum=maximum,
        mean=mean,
        quantile=quantile,
        share_above=above / sum(counts),
        records=sum(counts),
        above=above,
        histogram=tuple(Bin(low=low, high=high, records=count) for low, high, count in intervals),
    )
