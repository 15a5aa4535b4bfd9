"""The combined score of a file as written: from its bytes alone it is the one that was judged."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.assessments.attribute.facts import AttributeFact
from tasks.assessments.combined.assessment import combine, score_collected
from tasks.assessments.combined.expected import expected_disclosure
from tasks.assessments.combined.facts import ScoreFigure
from tasks.assessments.identity.score import residual_risk
from tasks.assessments.registry import ATTRIBUTE, COMBINED, SINGLING_OUT
from tasks.assessments.sequential.assessment import external_fact, plan
from tasks.assessments.singling_out.facts import SinglingOutFact
from tasks.candidate.candidate import Candidate
from tasks.candidate.groups import recipient_profile, released_tuples
from tasks.core.errors import StageFailed
from tasks.decision.gates import flat_figures, rescored_gate
from tasks.delivery.formula_marks import as_collected, harmless
from tasks.delivery.released_file import delivered_table, read_columns, released_rows
from tasks.delivery.write import Assessed, figures_of_file, is_scored_alike, score_again
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import game_table, payoffs_of, weights_of
from tasks.microdata.coded import Prepared
from tasks.microdata.prepared import prepare
from tasks.request.load import LoadedRequest
from tasks.request.model import DeliveryFormat
from tests.support.examples import examples
from tests.support.released_files import write_to
from tests.support.silence import CANARY, assert_silent
from tests.support.tiny import DATA, Change, changed, larger, tiny_request

CELLS = [
    None,
    "",
    "a",
    "b",
    "'a",
    "=1",
    "'=1",
    "''=1",
    "-5",
    "'-5",
    "-5-",
    "'",
    '"',
    '"a"',
    "a,b",
    "a\nb",
    "NA",
    "null",
]
"""Missing, empty, quoted, and what a spreadsheet would run with and without an apostrophe before it."""
TEXT = pd.StringDtype("pyarrow")
TERMS = (
    changed("attributes", "diagnosis", "sensitivity", to={"values": {"a": 0.2, "=1": 0.4, "": 0.7, "'=1": 0.05}}),
    changed("attributes", "note", to={"role": "insensitive", "known_probability": 0.75}),
    changed("attributes", "age", "known_probability", to=0.5),
)


@dataclass
class Release:
    """A request with its file written."""

    loaded: LoadedRequest
    prepared: Prepared
    table: CountIndex
    generalization: Generalization
    kept: Any
    path: Path
    candidate: Candidate

    @property
    def measured(self) -> dict[str, float]:
        found = figures_of_file(
            self.path, self.candidate, released_rows(self.kept[self.prepared.tuple_of_record], SEED)
        )
        assert found is not None
        return found

    @property
    def recorded(self) -> ScoreFigure:
        request = self.loaded.request
        collected = score_collected(request, self.prepared)
        return combine(request, self.prepared, self.generalization, self.kept, collected).residual

    @property
    def counted(self) -> dict[str, Any]:
        few: SinglingOutFact = SINGLING_OUT.assess(self.candidate).fact
        classes: AttributeFact = ATTRIBUTE.assess(self.candidate).fact
        expected = float(expected_disclosure(self.candidate).max())
        return {"singled_out": few.as_released, "disclosed": classes.disclosed_records, "expected": expected}

    @property
    def read_back(self) -> ScoreFigure:
        return score_again(self.path, self.loaded.request, self.prepared)


def released(folder: Path, diagnoses: list[str | None], notes: list[str | None], *changes: Change) -> Release:
    """Records with the tiny request's quasi-identifiers, repeated, as its recipient would get them."""
    loaded = tiny_request(folder, *TERMS, *changes, population=larger(-(-len(notes) // 7)))
    request, recipient = loaded.request, loaded.request.recipients[0]
    rows = [line.split(",") for line in DATA.splitlines()[1:]]
    columns = {
        name: [rows[row % 6][at] for row in range(len(notes))] for at, name in enumerate(("id", "zip", "age", "sex"))
    }
    columns |= {"diagnosis": diagnoses, "note": notes}
    frame = pd.DataFrame({name: pd.array(columns[name], dtype=TEXT) for name in request.attributes})
    prepared = prepare(loaded, frame)
    table = game_table(request, prepared)
    generalization = generalize(table, request.method_for(recipient), payoffs_of(recipient), weights_of(request))
    kept = released_tuples(table, generalization, request.policy.generalization.minimum_class_size)
    candidate = Candidate(
        request, recipient, prepared, table, generalization, source=lambda: frame, already_released=kept
    )
    path = folder / "released.csv"
    path.unlink(missing_ok=True)
    write_to(delivered_table(candidate, SEED, DeliveryFormat.CSV), path, DeliveryFormat.CSV)
    return Release(loaded, prepared, table, generalization, kept, path, candidate)


SEED = b"0123456789abcdef"
COLUMN = st.lists(st.sampled_from(CELLS), min_size=7, max_size=7)


@pytest.mark.slow
@example(diagnoses=["=1", "'=1", "''=1", None, "", "-5", "'-5"], notes=["=1", "'=1", "''=1", None, "", "-5", "'-5"])
@given(diagnoses=COLUMN, notes=COLUMN)
@settings(max_examples=examples(12), deadline=None)
def test_the_file_as_written_scores_what_was_judged(diagnoses: list[str | None], notes: list[str | None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        release = released(Path(folder), diagnoses, notes)
        recorded, read_back = release.recorded, release.read_back
        assert counts(read_back) == counts(recorded)
        for name in ("maximum", "mean", "quantile"):
            assert getattr(read_back, name) == pytest.approx(getattr(recorded, name), rel=1e-12)


@given(cells=st.lists(st.sampled_from(CELLS) | st.text("'=-+@5.e\t\n ＝a", max_size=5), max_size=8))
@settings(max_examples=examples(100), deadline=None)
def test_no_two_texts_are_marked_alike_and_each_is_recovered(cells: list[str | None]) -> None:
    marked = harmless(pa.array(cells, type=pa.large_string())).to_pylist()
    assert [None if text is None else as_collected(text) for text in marked] == cells


@pytest.mark.parametrize(
    "changes",
    [
        (),
        (changed("policy", "generalization", "minimum_class_size", to=3),),
        (changed("attributes", "zip", "sensitivity", to={"values": {"37010": 0.3}, "default": 0.7}),),
        (changed("policy", "presence", to="known"),),
    ],
)
def test_every_figure_is_compared(tmp_path: Path, changes: tuple[Change, ...]) -> None:
    """Of the quasi-identifiers, the sequential adversary and the combined score, with and without suppression."""
    method = changed("policy", "generalization", "method", to="safe-harbor")
    release = released(tmp_path, ["a", None, "=1", "b"] * 4, ["x", "-5", "", None] * 4, method, *changes)
    request, recipient = release.loaded.request, release.loaded.request.recipients[0]
    policy, payoffs = request.policy, payoffs_of(recipient)
    derived = recipient_profile(recipient, release.generalization, release.kept)
    external = external_fact(request, release.prepared, derived.profile.prior)
    residual, transparent = residual_risk(
        release.table,
        release.generalization,
        release.kept,
        payoffs,
        policy,
    )
    sequential = plan(release.table, release.generalization, release.kept, derived, external).residual
    rows = int(release.kept[release.prepared.tuple_of_record].sum())
    recorded = flat_figures(residual, transparent, sequential, release.recorded, rows, **release.counted)
    again = release.measured
    assert rescored_gate(recorded, again).passed
    assert {
        "sequential.2.maximum_risk",
        "combined.maximum",
        "combined.above",
        "residual.smallest_class",
    } <= again.keys()
    assert again["combined.records"] == again["rows as attacked"] == rows
    assert 0 < again["rows singled out"] == release.counted["singled_out"]
    assert 0 < again["expected disclosure"] == pytest.approx(release.counted["expected"], rel=1e-12)


@pytest.mark.parametrize("changes", [(), (changed("policy", "generalization", "minimum_class_size", to=3),)])
def test_a_file_with_the_records_as_assessed_has_their_score_and_any_other_is_scored(
    tmp_path: Path, changes: tuple[Change, ...]
) -> None:
    method = changed("policy", "generalization", "method", to="safe-harbor")
    weights = changed("attributes", "diagnosis", "sensitivity", to={"values": {"a": 0.5}, "default": 0.7})
    release = released(tmp_path, ["a", None, "=1", "b"] * 4, ["x", "-5", "", None] * 4, method, weights, *changes)
    candidate, combined = release.candidate, COMBINED.assess(release.candidate).fact
    assessed = Assessed(combined, SINGLING_OUT.assess(candidate).fact.as_released)
    residual = combined.residual.model_copy(update={"maximum": 77.0})
    told = Assessed(combined.model_copy(update={"residual": residual}), 55)
    rows = released_rows(release.kept[release.prepared.tuple_of_record], SEED)
    content, scored = release.path.read_text(), release.measured
    by_assessment = figures_of_file(release.path, candidate, rows, assessed)
    assert by_assessment == pytest.approx(scored, rel=1e-12)
    as_told = scored | {"combined.maximum": 77.0, "rows singled out": 55}
    assert figures_of_file(release.path, candidate, rows, told) == pytest.approx(as_told)
    for old, new in (('"a","x"', '"b","x"'), ('"a","x"', '"c","x"'), ('"b",', ",")):
        assert old in content
        release.path.write_text(content.replace(old, new, 1))
        assert not is_scored_alike(release.path, candidate, rows), (old, new)
        assert figures_of_file(release.path, candidate, rows, told) == pytest.approx(release.measured), (old, new)
    release.path.write_text(content)
    assert is_scored_alike(release.path, candidate, rows)
    assert not is_scored_alike(release.path, candidate, np.where(rows == rows.max(), -1, rows)), "a record less"


def test_a_register_is_counted_again(tmp_path: Path) -> None:
    (tmp_path / "register.csv").write_text("zip,age,sex,count\n37010,88,F,1\n37201,93,M,7\n")
    named = changed("external_data", to={"path": "register.csv", "source": "made up"})
    release = released(tmp_path, ["a"] * 6, ["b"] * 6, named)
    request, recipient = release.loaded.request, release.loaded.request.recipients[0]
    derived = recipient_profile(recipient, release.generalization, release.kept)
    external = external_fact(request, release.prepared, derived.profile.prior)
    fact = plan(release.table, release.generalization, release.kept, derived, external)
    assert (external.kind, external.people) == ("register", 8)
    assert 0 < fact.profile.prior <= 0.99
    assert fact.profile.prior == derived.profile.prior
    policy = request.policy
    residual, transparent = residual_risk(
        release.table,
        release.generalization,
        release.kept,
        payoffs_of(recipient),
        policy,
    )
    recorded = flat_figures(residual, transparent, fact.residual, release.recorded, 6, **release.counted)
    assert rescored_gate(recorded, release.measured).passed


def test_a_cell_that_was_changed_is_noticed(tmp_path: Path) -> None:
    release = released(tmp_path, ["a", "a", "b", "b", "=1", "=1"], ["x"] * 6)
    before = flat_figures_of(release.recorded)
    assert rescored_gate(before, flat_figures_of(release.read_back)).passed
    content = release.path.read_text()
    for old, new in (("'=1", "a"), ("'=1", "'=2"), ('"x"', '""'), (",x", ","), (",a,", ",,")):
        if old not in content:
            continue
        release.path.write_text(content.replace(old, new, 1))
        assert not rescored_gate(before, flat_figures_of(release.read_back)).passed, (old, new)


def flat_figures_of(figure: ScoreFigure) -> dict[str, float]:
    return {name: value for name, value in figure.model_dump().items() if isinstance(value, int | float)}


def test_missing_and_empty_stay_apart_in_the_file(tmp_path: Path) -> None:
    release = released(tmp_path, ["", None, "", None, "", None], ["a"] * 6)
    column = read_columns(release.path, ["diagnosis"])["diagnosis"]
    assert (column.null_count, column.to_pylist().count("")) == (3, 3)


@pytest.mark.parametrize("damage", ["gone", "another column", "not UTF-8", "uneven"])
def test_a_file_that_cannot_be_read_back_blocks(tmp_path: Path, damage: str) -> None:
    release = released(tmp_path, [CANARY] * 6, ["a"] * 6)
    content = release.path.read_bytes()
    if damage == "gone":
        release.path.unlink()
    elif damage == "another column":
        release.path.write_bytes(content.replace(b"note", b"other", 1))
    elif damage == "not UTF-8":
        release.path.write_bytes(content.replace(CANARY.encode(), CANARY.encode() + b"\xe9", 1))
    else:
        release.path.write_bytes(content + f"{CANARY}\n".encode())
    with pytest.raises(StageFailed) as caught:
        _ = release.read_back
    assert_silent(caught.value)
    assert caught.value.where == "released.csv"


def test_a_record_at_the_threshold_counts_alike_whatever_the_order_of_summation(tmp_path: Path) -> None:
    """In another order of rows and under other codes the last digits of a sum may differ; a tie is not above."""
    generator = np.random.default_rng(5)
    diagnoses, notes = ([str(one) for one in generator.integers(0, most, 120)] for most in (5, 9))
    first = released(tmp_path, diagnoses, notes)
    for bound in (first.recorded.maximum, first.read_back.maximum):
        at_the_bound = changed("policy", "combined", to={"threshold": bound})
        release = released(tmp_path, diagnoses, notes, at_the_bound)
        assert counts(release.read_back) == counts(release.recorded)
        assert release.recorded.above == 0
    release = released(tmp_path, diagnoses, notes, changed("policy", "combined", to={"threshold": bound * (1 - 1e-9)}))
    assert release.recorded.above > 0


def counts(figure: ScoreFigure) -> dict[str, Any]:
    return figure.model_dump(include={"records", "above", "share_above", "histogram"})
