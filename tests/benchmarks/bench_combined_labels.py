"""What labels add to the combined score of Adult-TN: counted as they stand, and by what they may stand for.

A released group of one level may lie in one of another, and somebody whose value is known matches both. The score tells
them apart, as labels. Here the records that match are counted as well, for some of the records.
"""

import numpy as np

from tasks.assessments.combined import known_sets
from tasks.assessments.combined.assessment import ScoreTable, collected_table, released_table, scores
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import game_table, payoffs_of, weights_of
from tasks.request.load import load_request
from tasks.request.model import Recipient, ReleaseRequest
from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row

_SAMPLE = 200
_ROUNDING = 1e-9


def run() -> Benchmark:
    """Scores of each recipient's file, before and after, and after by what matches."""
    request = load_request(adult.EXAMPLE).request
    return {
        "name": "combined_labels",
        "title": "The combined score on Adult-TN: labels told apart, and what they match",
        "rows": [row for recipient in request.recipients for row in _recipient(request, recipient)],
        "note": f"matches are counted for {_SAMPLE} records drawn at random",
    }


def _recipient(request: ReleaseRequest, recipient: Recipient) -> list[Row]:
    prepared, policy = adult.prepared(), request.policy.combined
    table = game_table(request, prepared)
    generalization = generalize(table, request.method_for(recipient), payoffs_of(recipient), weights_of(request))
    everybody = np.ones(len(table.data.counts), dtype=np.bool_)
    after = released_table(request, prepared, generalization, everybody)
    collected = collected_table(request, prepared)
    before, labelled = scores(collected, policy), scores(after, policy)
    rows = np.random.default_rng(1).choice(len(before), _SAMPLE, replace=False)
    own = {name: table.hierarchies[axis].positions for axis, name in enumerate(request.quasi_identifiers)}
    chances = np.array(after.known_probabilities)
    sets = known_sets.known_sets(chances, policy.epsilon)
    weights = known_sets.weights_of(sets, chances, exclusive=policy.exclusive)
    by_set = dict(zip(sets, weights, strict=True))
    matched = policy.alpha * np.array([_matched(after, collected, own, by_set, row) for row in rows])
    figures: dict[str, float] = {
        "mean before": float(before.mean()),
        "mean after": float(labelled.mean()),
        "highest before": float(before.max()),
        "highest after": float(labelled.max()),
        "records that score higher after": float(np.mean(labelled > before + _ROUNDING)),
        "sample, mean before": float(before[rows].mean()),
        "sample, mean after": float(labelled[rows].mean()),
        "sample, mean after by what matches": float(matched.mean()),
        "sample, records whose labels score less than what matches": int((labelled[rows] < matched - _ROUNDING).sum()),
        "sample, records that score higher after by what matches": int((matched > before[rows] + _ROUNDING).sum()),
    }
    return [Row(figure=f"{recipient.id}: {name}", ours=figure) for name, figure in figures.items()]


def _matched(
    released: ScoreTable,
    collected: ScoreTable,
    own: dict[str, np.ndarray],
    weights: dict[known_sets.KnownSet, float],
    row: int,
) -> float:
    """Score of one record where every released group counts that its collected values lie in; α is left out."""
    columns = [
        np.isin(released.codes[:, place], own[name][collected.codes[row, place]])
        if name in own
        else released.codes[:, place] == released.codes[row, place]
        for place, name in enumerate(released.names)
    ]
    secrets = [weight[released.codes[row, place]] for place, weight in enumerate(released.sensitivities)]
    matches = {(): np.ones(len(released.codes), dtype=np.bool_)}
    total = 0.0
    for known, weight in weights.items():
        if known:
            matches[known] = matches[known[:-1]] & columns[known[-1]]
        hidden = sum(secret for place, secret in enumerate(secrets) if place not in known)
        total += weight * hidden / int(matches[known].sum())
    return total
