"""The masked columns of a request: read, masked the same whenever they are the same, kept valid, written, refused."""

import json
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tasks.core.errors import DataError, StageFailed
from tasks.masking.masked_columns import (
    NOTHING_MASKED,
    MaskedColumns,
    load_masked,
    mask_columns,
    save_masked,
    with_masked,
    written_number,
)
from tasks.masking.registry import METHODS
from tasks.microdata.coded import code_column, sensitivities
from tasks.microdata.prepared import prepare
from tasks.request.model import PARAMETER_OF, Masking, MaskingName
from tests.support.numeric import STRENGTH, Maskings, drawn, masking, numeric_request
from tests.support.silence import CANARY, assert_silent
from tests.support.stages import generator_for
from tests.support.tiny import Change, changed

SWAP = masking("rank-swapping", "dose", p=10)
NOISE = masking("additive-noise", "visits", noise=0.5)
SWAPPING = ["rank-swapping", "rank-swapping-p-buckets", "rank-swapping-p-distribution"]
Masked = Callable[..., MaskedColumns]


def terms_of(method: MaskingName, *attributes: str) -> dict[str, Any]:
    return masking(method.value, *attributes, **{PARAMETER_OF[method]: STRENGTH[PARAMETER_OF[method]]})


@pytest.fixture
def masked(tmp_path: Path) -> Masked:
    def mask(*maskings: dict[str, Any], frame: pd.DataFrame | None = None, changes: Any = ()) -> MaskedColumns:
        loaded = numeric_request(tmp_path, *changes, maskings=maskings)
        return mask_columns(loaded.request, drawn(60) if frame is None else frame, generator_for)

    return mask


@pytest.mark.parametrize("method", list(MaskingName))
def test_a_column_is_masked_by_its_method(method: MaskingName, masked: Masked) -> None:
    columns = masked(terms_of(method, "dose"))
    frame = drawn(60)
    assert columns.names == ("dose",)
    assert columns.original[:, 0].tolist() == [float(text) for text in frame["dose"]]
    assert (columns.masked != columns.original).any()
    terms = Masking.model_validate(terms_of(method, "dose"))
    again = METHODS[method].of(terms).mask(columns.original, np.random.default_rng(0))
    assert columns.masked.shape == again.values.shape
    (fact,) = columns.facts
    assert (fact.attributes, fact.method, fact.rounded, fact.limited) == (("dose",), method.value, False, False)
    assert "method" not in fact.parameters
    assert STRENGTH[PARAMETER_OF[method]] in fact.parameters.values()


def test_columns_are_in_the_order_of_the_maskings(masked: Masked) -> None:
    columns = masked(masking("mdav", "visits", "income", k=3), SWAP)
    assert columns.names == ("visits", "income", "dose")
    assert columns.columns(["dose", "visits"]) == [2, 0]
    frame = drawn(60)
    for place, name in enumerate(columns.names):
        assert columns.original[:, place].tolist() == [float(text) for text in frame[name]]
    groups = np.unique(columns.masked[:, :2], axis=0, return_counts=True)[1]
    assert groups.min() >= 3


def test_the_same_values_and_terms_give_the_same_masked_values(masked: Masked) -> None:
    """Whatever else the request asks for, and in whichever of its places the masking stands."""
    alone = masked(SWAP)
    beside = masked(NOISE, SWAP, changes=[changed("title", to="Another release"), changed("policy", "version", to="2")])
    assert (alone.masked[:, 0] == beside.masked[:, 1]).all()
    assert (masked(SWAP).masked == alone.masked).all()


@pytest.mark.parametrize("terms", [{"p": 11}, {"p": 10, "reading": "skip"}])
def test_other_terms_give_other_masked_values(terms: dict[str, Any], masked: Masked) -> None:
    assert (masked(masking("rank-swapping", "dose", **terms)).masked != masked(SWAP).masked).any()


def test_one_other_value_gives_other_masked_values(masked: Masked) -> None:
    frame = drawn(60)
    frame.loc[7, "dose"] = "9.999"
    one, other = masked(SWAP), masked(SWAP, frame=frame)
    assert np.count_nonzero(one.masked != other.masked) > 10


def test_another_key_gives_other_masked_values(tmp_path: Path) -> None:
    request = numeric_request(tmp_path, maskings=(SWAP,)).request
    names: list[str] = []

    def other(name: str) -> np.random.Generator:
        names.append(name)
        return np.random.default_rng(99)

    assert (
        mask_columns(request, drawn(60), other).masked != mask_columns(request, drawn(60), generator_for).masked
    ).any()
    assert [len(name) for name in names] == [64]


@pytest.mark.parametrize("method", list(MaskingName))
def test_whole_numbers_stay_whole(method: MaskingName, masked: Masked) -> None:
    columns = masked(terms_of(method, "income", "dose"))
    assert (columns.masked[:, 0] == np.rint(columns.masked[:, 0])).all()
    assert all(text.lstrip("-").isdigit() for text in columns.text("income"))
    assert columns.facts[0].rounded is (method.value not in SWAPPING)
    if method.value in SWAPPING:
        assert np.sort(columns.masked, axis=0).tolist() == np.sort(columns.original, axis=0).tolist()
    else:
        assert (columns.masked[:, 1] != np.rint(columns.masked[:, 1])).any()


@pytest.mark.parametrize("method", ["additive-noise", "correlated-noise"])
def test_noise_stays_within_what_is_declared(method: str, masked: Masked) -> None:
    columns = masked(masking(method, "visits", "income", noise=9))
    visits, income = columns.masked.T
    assert columns.original[:, 0].max() < 12
    assert (visits.min(), visits.max()) == (0, 12)
    assert income.min() < columns.original[:, 1].min()
    (fact,) = columns.facts
    assert (fact.rounded, fact.limited) == (True, True)
    assert not masked(masking(method, "income", noise=4)).facts[0].limited


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-3.0, "-3"),
        (40.0, "40"),
        (0.1, "0.1"),
        (1 / 3, "0.3333333333333333"),
        (1e-9, "1e-09"),
        (123456789012345.0, "123456789012345"),
        (2.0**53, "9007199254740992"),
        (1e300, "1e+300"),
    ],
)
def test_a_number_is_written_so_that_it_is_read_back(value: float, text: str) -> None:
    assert written_number(value) == text
    assert float(text) == value
    assert pd.to_numeric(pd.Series([text], dtype="str"))[0] == value


def test_a_column_is_written_record_by_record() -> None:
    values = np.array([[2.0, -0.0], [0.5, 1e-7], [2.0, 3.0]])
    columns = MaskedColumns(("a", "b"), values, values, ())
    assert columns.text("a").tolist() == ["2", "0.5", "2"]
    assert columns.text("b").tolist() == ["0", "1e-07", "3"]


@pytest.mark.parametrize("wrong", [CANARY, "inf", "nan", "1,5", ""])
def test_a_cell_that_is_no_number_is_refused_by_column_and_rows(wrong: str, masked: Masked) -> None:
    frame = drawn(60)
    frame.loc[[3, 8], "dose"] = wrong
    with pytest.raises(DataError) as caught:
        masked(SWAP, frame=frame)
    assert_silent(caught.value)
    assert caught.value.where == "data.csv, column dose, rows 4, 9"
    assert (caught.value.expected, caught.value.got) == ("a finite number, or nothing", "2 records with others")
    assert "take the attribute out of masking" in caught.value.fix
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("method", list(MaskingName))
def test_a_missing_value_stays_missing_and_the_others_are_masked_without_it(
    method: MaskingName, masked: Masked
) -> None:
    """As if the file had the records that have a value alone."""
    frame, gone = drawn(60), [3, 8, 59]
    whole = masked(terms_of(method, "dose"), frame=frame.drop(index=gone).reset_index(drop=True))
    frame.loc[gone, "dose"] = None
    columns = masked(terms_of(method, "dose"), frame=frame)
    held = np.delete(np.arange(60), gone)
    assert np.isnan(columns.masked[gone]).all()
    assert columns.masked[held].tolist() == whole.masked.tolist()
    text = columns.text("dose")
    assert text[gone].isna().all()
    assert pd.to_numeric(text[held]).tolist() == whole.masked[:, 0].tolist()


def test_values_that_are_masked_together_are_missing_together(masked: Masked) -> None:
    frame = drawn(60)
    frame.loc[[3, 8], ["dose", "income"]] = None
    columns = masked(masking("mdav", "dose", "income", k=5), frame=frame)
    assert np.flatnonzero(np.isnan(columns.masked).any(axis=1)).tolist() == [3, 8]
    frame.loc[4, "dose"] = None
    with pytest.raises(DataError, match="some of the values that are masked together") as caught:
        masked(masking("mdav", "dose", "income", k=5), frame=frame)
    assert caught.value.where == "data.csv, columns dose, income (masking[0]), row 5"
    assert "one by one" in caught.value.fix


def test_a_column_without_values_is_refused(masked: Masked) -> None:
    frame = drawn(60)
    frame["dose"] = pd.Series([None] * 60, dtype="str")
    with pytest.raises(DataError, match="does not vary"):
        masked(SWAP, frame=frame)


def test_a_column_that_does_not_vary_is_refused(masked: Masked) -> None:
    frame = drawn(60)
    frame["income"] = "7654321"
    with pytest.raises(DataError) as caught:
        masked(masking("mdav", "dose", "income", k=3), frame=frame)
    assert caught.value.where == "data.csv, column income"
    assert_silent(caught.value, "7654321")


@pytest.mark.parametrize(
    ("asked", "n_records", "told"),
    [
        (masking("mdav", "dose", k=61), 60, ("(mdav of dose)", "61", "60")),
        (
            masking("individual-ranking", "dose", "income", k=20),
            12,
            ("(individual-ranking of dose, income)", "20", "12"),
        ),
        (masking("rank-swapping", "dose", p=1), 60, ("(rank-swapping of dose): p", "1.67", "1")),
        (masking("rank-swapping-p-distribution", "dose", p=1.5), 60, ("p-distribution of dose): p", "1.67", "1.5")),
        (masking("rank-swapping-p-buckets", "dose", buckets=61), 60, ("p-buckets of dose): buckets", "60", "61")),
    ],
)
def test_too_few_records_for_the_method_are_refused(
    asked: dict[str, Any], n_records: int, told: tuple[str, str, str], masked: Masked
) -> None:
    frame = drawn(n_records)
    with pytest.raises(DataError) as caught:
        masked(NOISE, asked, frame=frame)
    error = caught.value
    assert error.where.startswith("masking[1] ")
    for part, said in zip(told, (error.where, error.expected, error.got), strict=True):
        assert part in said
    assert error.fix == "correct the parameters of the masking, or take the attribute out of it"
    for text in frame["dose"]:
        assert text not in str(error)


def test_values_too_large_for_a_method_are_refused_without_being_shown(masked: Masked) -> None:
    frame = drawn(60)
    frame.loc[5, "dose"] = "8.7654321e200"
    with pytest.raises(DataError) as caught:
        masked(masking("additive-noise", "dose", noise=0.1), frame=frame)
    assert "row 6" in caught.value.where
    assert_silent(caught.value, "7654321")


def test_whole_numbers_beyond_what_is_exact_are_refused(masked: Masked) -> None:
    frame = drawn(60)
    frame.loc[5, "income"] = "9007199254740993"
    with pytest.raises(DataError) as caught:
        masked(masking("rank-swapping", "income", p=10), frame=frame)
    assert caught.value.where == "data.csv, column income, row 6"
    assert_silent(caught.value, "9007199254740993")


def test_nothing_is_masked_where_nothing_is_asked_for(masked: Masked) -> None:
    assert masked().names == NOTHING_MASKED.names == ()


def weighed(*maskings: dict[str, Any]) -> tuple[Change, Maskings]:
    return changed("attributes", "income", "sensitivity", to={"values": {"5": 0.2}}), maskings


def test_scores_see_the_masked_values(tmp_path: Path) -> None:
    change, maskings = weighed(masking("mdav", "income", k=5))
    loaded, frame = numeric_request(tmp_path, change, maskings=maskings), drawn(60)
    prepared = prepare(loaded, frame)
    columns = mask_columns(loaded.request, frame, generator_for)
    seen = with_masked(prepared, loaded.request, columns)
    assert seen.columns.keys() == prepared.columns.keys()
    same = code_column(columns.text("income"), sensitivities(loaded.request).get("income"))
    assert seen.columns["income"].codes.tolist() == same.codes.tolist()
    assert np.bincount(seen.columns["income"].codes).max() >= 5
    assert seen.columns["diagnosis"] is prepared.columns["diagnosis"]
    assert with_masked(prepared, loaded.request, NOTHING_MASKED).columns == prepared.columns


def test_what_was_masked_is_read_back_as_it_was_written(tmp_path: Path, masked: Masked) -> None:
    for number, columns in enumerate((masked(NOISE, SWAP), NOTHING_MASKED)):
        path = tmp_path / f"masked-{number}.npz"
        save_masked(columns, path)
        again = load_masked(path)
        assert (again.names, again.facts) == (columns.names, columns.facts)
        assert (again.original == columns.original).all()
        assert (again.masked == columns.masked).all()


def rewritten(content: bytes, name: str, new: bytes) -> bytes:
    target = BytesIO()
    with zipfile.ZipFile(BytesIO(content)) as old, zipfile.ZipFile(target, "w") as made:
        for part in old.namelist():
            made.writestr(part, new if part == name else old.read(part))
    return target.getvalue()


def stored(array: Any) -> bytes:
    target = BytesIO()
    np.save(target, array)
    return target.getvalue()


@pytest.mark.parametrize(
    "damage", ["gone", "empty", "cut", "text", "another array", "no JSON", "another fact", "pickle"]
)
def test_a_damaged_file_between_stages_is_a_failure(damage: str, tmp_path: Path, masked: Masked) -> None:
    path = tmp_path / "masked.npz"
    save_masked(masked(SWAP), path)
    content = path.read_bytes()
    about = json.dumps({"names": ["dose"], "facts": [{CANARY: 1}]}).encode()
    made = {
        "empty": b"",
        "cut": content[:-40],
        "text": CANARY.encode(),
        "another array": rewritten(content, "about.npy", stored(np.array([1.5]))),
        "no JSON": rewritten(content, "about.npy", stored(np.frombuffer(CANARY.encode(), np.uint8))),
        "another fact": rewritten(content, "about.npy", stored(np.frombuffer(about, np.uint8))),
        "pickle": rewritten(content, "masked.npy", _pickled()),
    }
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(made[damage])
    with pytest.raises(StageFailed, match="intermediate file") as caught:
        load_masked(path)
    assert_silent(caught.value)
    assert caught.value.where == "masked.npz"


def _pickled() -> bytes:
    target = BytesIO()
    np.save(target, np.array([{CANARY: 1}], dtype=object), allow_pickle=True)
    return target.getvalue()
