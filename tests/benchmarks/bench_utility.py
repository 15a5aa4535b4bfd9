"""Utility of what is released: losses of every method on Adult-TN, masking against utility on Census, and seconds."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from tasks.assessments.utility.analyses import classification_accuracy, cluster_agreement
from tasks.assessments.utility.facts import AssociationFact, ClassificationFact
from tasks.assessments.utility.features import Features, features, sample
from tasks.assessments.utility.generalization_loss import GeneralizationLoss, Released, generalization_loss, released
from tasks.assessments.utility.numeric_change import association_changes, correlation_changes, numeric_change
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.generalize import generalize
from tasks.generalization.suppression import suppressed
from tasks.masking.rank_swapping import RankSwapping
from tasks.microdata.read import read_microdata
from tasks.request.load import load_request
from tasks.request.model import Method
from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row
from tests.support.casc_tables import casc_table

_METHODS = (Method.BASIC, Method.NO_ATTACK, Method.NO_ATTACK_PARTITION, Method.SAFE_HARBOR)
_MINIMUM = 1
_AS_COLLECTED = ("education", "marital-status", "occupation")
_TARGET = "salary-class"
_CATEGORIES = 10
_SAMPLE = 5_000
_CLUSTERS = 6
_STATE_TAX = 5


def run() -> Benchmark:
    """Losses by method, agreement of clusterings and classifiers, changes under masking, and seconds."""
    return {
        "name": "utility",
        "title": "Utility of generalized (Adult-TN) and of masked files (Census)",
        "rows": _losses() + _learning() + _masking() + _times(),
        "note": "Adult-TN: salary class from seven attributes; Census: quartile of state tax; times on one thread",
    }


def _generator() -> np.random.Generator:
    return np.random.default_rng(1)


def _generalized(method: Method) -> tuple[CountIndex, Generalization, np.ndarray]:
    table = adult.fresh_table()
    generalization = generalize(table, method, adult.CASE_STUDY, adult.weights("table7"))
    return (
        table,
        generalization,
        ~suppressed(cell_numbers(generalization.cells, table.axis_sizes), table.data.counts, _MINIMUM),
    )


def _loss_rows(name: str, loss: GeneralizationLoss) -> list[Row]:
    figures = {
        "records suppressed": loss.suppressed / loss.records,
        "Loss, ARX's geometric mean": loss.file.loss,
        "non-uniform entropy": loss.file.entropy,
        "generalized certainty penalty": loss.file.certainty_penalty,
        "discernibility, share of its range": loss.file.discernibility_share,
        "average class size": loss.file.average_class_size,
    }
    return [Row(figure=f"{name}: {figure}", ours=value) for figure, value in figures.items()]


def _losses() -> list[Row]:
    rows = []
    for method in _METHODS:
        table, generalization, kept = _generalized(method)
        loss = generalization_loss(released(table, generalization, kept))
        rows += _loss_rows(method.value, loss)
        pairs = association_changes(
            [hierarchy.name for hierarchy in table.hierarchies],
            table.data.codes,
            generalization.cells,
            table.data.counts,
            kept,
        )
        rows.append(Row(figure=f"{method.value}: largest change of Cramér's V", ours=_largest_change(pairs)))
    return rows


def _largest_change(pairs: Iterable[AssociationFact]) -> float:
    return max(abs((pair.after or 0.0) - pair.before) for pair in pairs if pair.before is not None)


def _adult_features(method: Method) -> tuple[Features, Features, np.ndarray]:
    """Original and released features of a sample of the kept records, and the salary class to predict."""
    table, generalization, kept = _generalized(method)
    request = load_request(adult.EXAMPLE)
    frame = read_microdata(request.resolve(request.request.dataset.path, "dataset.path"), request.request)
    of_record = adult.prepared().tuple_of_record
    released_records = np.flatnonzero(kept[of_record])
    chosen = released_records[sample(len(released_records), _SAMPLE, _generator())]
    others = {name: pd.factorize(frame[name])[0][chosen] for name in _AS_COLLECTED}
    files = []
    for codes in (table.data.codes, generalization.cells):
        columns = {tree.name: codes[of_record[chosen], i] for i, tree in enumerate(table.hierarchies)}
        files.append(features({}, columns | others, categories=_CATEGORIES))
    return files[0], files[1], pd.factorize(frame[_TARGET])[0][chosen]


def _learning() -> list[Row]:
    rows = []
    for method in (Method.BASIC, Method.SAFE_HARBOR):
        original, generalized, target = _adult_features(method)
        agreement = cluster_agreement(original.matrix, generalized.matrix, _CLUSTERS, _generator())
        rows.append(Row(figure=f"{method.value}: k-means, Rand", ours=agreement.rand))
        rows.append(Row(figure=f"{method.value}: k-means, Jaccard", ours=agreement.jaccard))
        rows.append(Row(figure=f"{method.value}: k-means, F", ours=agreement.f_measure))
        rows.append(Row(figure=f"{method.value}: k-means again, F", ours=agreement.repeated_f_measure))
        rows += _accuracy_rows(
            method.value, classification_accuracy(original, generalized, target, _TARGET, _generator())
        )
    return rows


def _accuracy_rows(name: str, found: ClassificationFact) -> list[Row]:
    rows = [Row(figure=f"{name}: most frequent class", ours=found.majority)]
    for method in found.classifiers:
        rows.append(Row(figure=f"{name}: {method.name}, original", ours=method.original))
        rows.append(Row(figure=f"{name}: {method.name}, released", ours=method.released))
    return rows


def _masking() -> list[Row]:
    original = casc_table("census")
    names = [f"attribute {i + 1}" for i in range(original.shape[1])]
    predictors = [i for i in range(original.shape[1]) if i != _STATE_TAX]
    columns = {names[i]: original[:, i] for i in predictors}
    target = np.searchsorted(np.quantile(original[:, _STATE_TAX], [0.25, 0.5, 0.75]), original[:, _STATE_TAX])
    rows = []
    for p in (2, 10, 20):
        masked = RankSwapping(p).mask(original, _generator()).values
        moved = [one.displacement or 0.0 for one in map(numeric_change, names, original.T, masked.T)]
        rows.append(Row(figure=f"census rs {p}: IL1s", ours=float(np.mean(moved))))
        largest = _largest_change(correlation_changes(names, original, masked))
        rows.append(Row(figure=f"census rs {p}: largest change of a correlation", ours=largest))
        before = features(columns, {})
        after = features({names[i]: masked[:, i] for i in predictors}, {}, scaled_as=columns)
        agreement = cluster_agreement(before.matrix, after.matrix, _CLUSTERS, _generator())
        rows.append(Row(figure=f"census rs {p}: k-means, F", ours=agreement.f_measure))
        found = classification_accuracy(before, after, target, "state tax", _generator())
        rows += _accuracy_rows(f"census rs {p}", found)
    return rows


def _times() -> list[Row]:
    rng = _generator()
    many = _many_tuples(30_000)
    seconds = {
        "all losses, 30,000 tuples of 4 attributes": adult.best_of(3, lambda: generalization_loss(many))[0],
        "Cramér's V, 30,000 tuples, 6 pairs before and after": adult.best_of(
            3, lambda: list(association_changes(many.names, many.leaves, many.cells, many.records, many.kept))
        )[0],
    }
    for kind, classes, strength in (("clear", 4, 1.0), ("noise", 20, 0.0)):
        target = rng.integers(0, classes, _SAMPLE)
        codes = {
            f"c{i}": np.where(rng.random(_SAMPLE) < strength / 2, target + i, rng.integers(0, 10, _SAMPLE)) % 10
            for i in range(3)
        }
        original = features({}, codes, categories=10)
        coarse = features({}, {name: column // 2 for name, column in codes.items()})
        size = f"{_SAMPLE:,} × {original.matrix.shape[1]} indicators, {classes} classes, {kind}"
        seconds[f"k-means agreement, {size}"] = adult.best_of(
            1, lambda a=original, b=coarse: cluster_agreement(a.matrix, b.matrix, _CLUSTERS, _generator())
        )[0]
        seconds[f"four classifiers, {size}"] = adult.best_of(
            1, lambda a=original, b=coarse, t=target: classification_accuracy(a, b, t, "t", _generator())
        )[0]
    return [Row(figure=figure, ours=value, unit="s") for figure, value in seconds.items()]


def _many_tuples(n_tuples: int) -> Released:
    """As many distinct tuples over the case study's hierarchies, released at random levels."""
    trees, rng = adult.fresh_table().hierarchies, _generator()
    domain = [tree.n_leaves for tree in trees]
    chosen = rng.choice(int(np.prod(domain, dtype=np.int64)), size=n_tuples, replace=False)
    leaves = np.column_stack(np.unravel_index(chosen, domain)).astype(np.int32)
    cells = [
        tree.finest[tree.positions[leaves[:, i], rng.integers(0, tree.n_levels, n_tuples)]]
        for i, tree in enumerate(trees)
    ]
    return Released(
        names=tuple(tree.name for tree in trees),
        groupings=tuple(tree.positions for tree in trees),
        leaves=leaves,
        cells=np.column_stack(cells),
        records=rng.integers(1, 9, n_tuples),
        kept=rng.random(n_tuples) < 0.9,
    )
