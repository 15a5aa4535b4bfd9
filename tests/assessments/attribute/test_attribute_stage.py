"""Attribute disclosure of whole candidates: classes of a copy and of coalitions, presence, masking, the file's bytes.

Three of eight kinds of people are released by Safe Harbor in classes of their own; the records are repeated.
"""

from dataclasses import replace
from itertools import cycle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tasks.assessments.attribute.assessment import class_table, disclosed_records
from tasks.assessments.attribute.facts import AttributeFact, ColumnDisclosureFact
from tasks.assessments.registry import ATTRIBUTE, IDENTITY
from tasks.candidate.assessment import Effort
from tasks.candidate.candidate import Candidate, CandidateSource
from tasks.candidate.value_counts import known_alone
from tasks.microdata.coded import certain_columns
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.request.load import LoadedRequest
from tasks.request.model import Measure
from tests.reference.plain_disclosure import disclosed
from tests.support.numeric import drawn, masking, numeric_request
from tests.support.tiny import DATA, Change, changed, larger, tiny_request

SAFE_HARBOR = changed("policy", "generalization", "method", to="safe-harbor")
TIMES = 30
"""The file 30 times over: classes of 90 (370** 88), 30 (370** 89) and 60 (372** 90+)."""


def candidate(loaded: LoadedRequest) -> Candidate:
    frame = read_microdata(loaded.resolve(loaded.request.dataset.path, "dataset.path"), loaded.request)
    source = CandidateSource(loaded.request, prepare(loaded, frame), frame, lambda _: np.random.default_rng(3))
    return source.candidate(loaded.request.recipients[0])


def repeated(diagnoses: tuple[str, ...]) -> str:
    """The records of the tiny file, with these diagnoses."""
    head, *rows = DATA.splitlines()
    lines = [
        f"{time}-{row.rpartition(',')[0]},{diagnosis}"
        for time in range(TIMES)
        for row, diagnosis in zip(rows, diagnoses, strict=True)
    ]
    return "\n".join([head, *lines]) + "\n"


def request(folder: Path, *changes: Change, diagnoses: tuple[str, ...], people: int = TIMES) -> LoadedRequest:
    return tiny_request(folder, SAFE_HARBOR, *changes, data=repeated(diagnoses), population=larger(people))


SHARED = ("flu", "cold", "hiv", "cold", "flu", "cold")
"""The class of 30 has one diagnosis, which nobody else has."""


def only(fact: AttributeFact) -> ColumnDisclosureFact:
    (column,) = fact.columns
    return column


def test_a_class_of_one_diagnosis_by_hand(tmp_path: Path) -> None:
    """Of 180 records 30 have hiv: p = 1/6, all 30 of a class of 30, and (1/6)³⁰ · 3 · 3 is nothing."""
    one = candidate(request(tmp_path, diagnoses=SHARED))
    found = ATTRIBUTE.assess(one)
    column = only(found.fact)
    assert (found.fact.classes, found.fact.records, found.fact.known) == (3, 180, ())
    assert (column.values, column.judged, column.width) == (3, 3, None)
    assert (column.homogeneous_classes, column.homogeneous_records) == (1, 30)
    assert (column.disclosed_classes, column.disclosed_records) == (1, 30)
    assert (found.fact.disclosed_classes, found.fact.disclosed_records) == (1, 30)
    assert column.largest_share == 1.0
    # 120 people of the population are of that class, so that one of four is in the file.
    assert column.informed_rise == pytest.approx(30 / 120 * (1 - 1 / 6))
    assert found.measures == {
        Measure.ATTRIBUTE_DISCLOSED: pytest.approx(30 / 180),
        Measure.ATTRIBUTE_HOMOGENEOUS: pytest.approx(30 / 180),
        Measure.ATTRIBUTE_RISE: pytest.approx(30 / 120 * (1 - 1 / 6)),
    }
    assert ATTRIBUTE.measures(one) == found.measures
    flags, columns = disclosed_records(one, Measure.ATTRIBUTE_DISCLOSED, 0.0)
    assert (int(flags.sum()), columns) == (30, ("diagnosis",))
    assert int(disclosed_records(one, Measure.ATTRIBUTE_RISE, 0.2)[0].sum()) == 30


def test_records_alike_in_one_released_group_disclose_what_classes_are_too_small_to_show(tmp_path: Path) -> None:
    """The 120 of 370** have 29 kinds of one illness, of which 26 make nine tenths: at most a quarter of 120.

    Of its class of 90 as many are more than a quarter.
    """
    head, *rows = DATA.splitlines()
    lines, kinds = [], cycle(range(29))
    for time in range(TIMES):
        for row in rows:
            without = row.rpartition(",")[0]
            lines.append(f"{time}-{without},{'cold' if ',37201,' in row else f'cancer {next(kinds)}'}")
    loaded = tiny_request(tmp_path, SAFE_HARBOR, data="\n".join([head, *lines]) + "\n", population=larger(TIMES))
    one = candidate(loaded)
    column = only(ATTRIBUTE.assess(one).fact)
    assert column.by == ("zip",)
    assert column.disclosed_records == 60 + 108
    of_classes = replace(class_table(one), alike={}).found["diagnosis"]
    assert of_classes.disclosed.sum() == 60, "only the colds of 372**"


def test_mixed_classes_disclose_nothing(tmp_path: Path) -> None:
    found = ATTRIBUTE.assess(candidate(request(tmp_path, diagnoses=("flu", "cold", "hiv", "hiv", "flu", "cold"))))
    # 89 M still has hiv alone; among 88 F one of three has it.
    assert found.fact.disclosed_records == 30
    sex = changed("attributes", "diagnosis", "sensitivity", to={"values": {"hiv": 0.4}})
    light = ATTRIBUTE.assess(candidate(request(tmp_path, sex, diagnoses=SHARED)))
    assert light.measures[Measure.ATTRIBUTE_DISCLOSED] == 0.0
    assert (only(light.fact).values, only(light.fact).judged) == (3, 2)
    insensitive = changed("attributes", "diagnosis", "role", to="insensitive")
    assert ATTRIBUTE.assess(candidate(request(tmp_path, insensitive, diagnoses=SHARED))).fact.columns == ()


def test_coarser_classes_are_the_remedy(tmp_path: Path) -> None:
    together = changed("policy", "generalization", "k_anonymity", to={"k": 40, "suppression_limit": 0})
    anonymous = changed("policy", "generalization", "method", to="k-anonymity")
    found = ATTRIBUTE.assess(candidate(request(tmp_path, together, anonymous, diagnoses=SHARED)))
    assert found.measures[Measure.ATTRIBUTE_DISCLOSED] == 0.0
    near = {"k": 2, "suppression_limit": 0, "closeness": [{"attribute": "diagnosis", "t": 0.49}]}
    close = changed("policy", "generalization", "k_anonymity", to=near)
    found = ATTRIBUTE.assess(candidate(request(tmp_path, close, anonymous, diagnoses=SHARED)))
    assert found.measures[Measure.ATTRIBUTE_DISCLOSED] == 0.0, "t-closeness below one half leaves nothing to disclose"


def test_what_is_known_for_certain_makes_classes_and_is_no_secret(tmp_path: Path) -> None:
    certain = changed("attributes", "diagnosis", "known_probability", to=1.0)
    loaded = request(tmp_path, certain, diagnoses=SHARED)
    assert certain_columns(loaded.request) == ("diagnosis",)
    fact = ATTRIBUTE.assess(candidate(loaded)).fact
    assert (fact.columns, fact.known, fact.classes) == ((), ("diagnosis",), 5)


def test_a_coalition_sees_smaller_classes(tmp_path: Path) -> None:
    """One copy tells ages, the other ZIP codes; together they make the classes that disclose."""

    def two(document: dict[str, object]) -> None:
        first = document["recipients"][0]  # type: ignore[index]
        document["recipients"] = [first | {"method": "basic"}, first | {"id": "other", "method": "k-anonymity"}]

    pooled = changed("policy", "generalization", "collusion", to={"recipients": "all"})
    terms = changed("policy", "generalization", "k_anonymity", to={"k": 40, "suppression_limit": 0})
    one = candidate(request(tmp_path, two, pooled, terms, diagnoses=SHARED))
    (coalition,) = one.coalitions
    table = class_table(one, coalition)
    sizes = np.bincount(table.classes)[table.classes]
    assert sizes.tolist() == coalition.classes[one.prepared.tuple_of_record[one.rows]].tolist()


def test_masked_numbers_are_judged_as_released(tmp_path: Path) -> None:
    """Incomes that depend on the class are disclosed; strongly swapped ones are not."""
    frame = drawn(240)
    of_class = frame["age"].map({"88": 20_000, "89": 50_000, "90": 80_000, "93": 80_000})
    frame["income"] = (of_class + frame.index % 7 * 100).astype(str)
    secret = changed("attributes", "diagnosis", "role", to="insensitive")
    plain = candidate(numeric_request(tmp_path, SAFE_HARBOR, secret, frame=frame))
    found = ATTRIBUTE.assess(plain)
    column = only(found.fact)
    assert column.column == "income"
    assert column.width == pytest.approx(6_050)
    assert column.homogeneous_records > 0
    assert column.disclosed_records > 0
    swapped = masking("rank-swapping", "income", p=50.0)
    masked = candidate(numeric_request(tmp_path, SAFE_HARBOR, secret, frame=frame, maskings=(swapped,)))
    after = ATTRIBUTE.assess(masked)
    assert after.measures[Measure.ATTRIBUTE_DISCLOSED] < found.measures[Measure.ATTRIBUTE_DISCLOSED]
    table = class_table(masked)
    rows = pd.DataFrame({"class": table.classes, "income": masked.masked.masked[masked.rows, 0]})
    plainly = disclosed(rows, ["income"], frozenset({"income"}))["income"]
    assert table.disclosed.tolist() == plainly["disclosed"].tolist()


@pytest.mark.parametrize(("allowed", "left_out"), [(0.17, 30), (0.16, 0)])
def test_a_class_that_discloses_is_left_out_where_as_many_records_may_be(
    tmp_path: Path, allowed: float, left_out: int
) -> None:
    """30 of 180 records, a share of 0.167, are in it; without a gate on what classes disclose all are released."""
    terms = changed("policy", "generalization", "k_anonymity", to={"k": 2, "suppression_limit": allowed})
    measures = (Measure.TRANSPARENT_MAXIMUM, Measure.ATTRIBUTE_DISCLOSED)
    gates = [{"measure": measure.value, "at_most": 0, "because": "A test."} for measure in measures]
    gated = candidate(request(tmp_path, terms, changed("policy", "gates", to=gates), diagnoses=SHARED))
    assert int(gated.index.data.counts[~gated.released].sum()) == left_out
    assert ATTRIBUTE.assess(gated).measures[Measure.ATTRIBUTE_DISCLOSED] == pytest.approx((30 - left_out) / 180)
    game = IDENTITY.assess(gated, Effort.OWN).fact.risk.game
    assert (game.disclosing_records, game.suppressed_records) == (left_out, left_out)
    free = candidate(request(tmp_path, terms, changed("policy", "gates", to=gates[:1]), diagnoses=SHARED))
    assert free.released.all()


@pytest.mark.parametrize(("chance", "told"), [(None, True), (0.05, True), (1, True), (0, False)])
def test_a_column_that_somebody_may_know_makes_classes_alone(tmp_path: Path, chance: float | None, told: bool) -> None:
    """To say how likely it is known opens no gate that silence closes; that nobody can know it does."""
    terms = {"role": "insensitive"} | ({} if chance is None else {"known_probability": chance})
    loaded = tiny_request(tmp_path, changed("attributes", "ward", to=terms))
    assert known_alone(loaded.request) == ("ward",) * told
