"""A request that is being written: what is wrong with it, what can be told all the same, and changes of its files."""

import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.actions.drafting import drafted
from flows.studio.columns import attributes_of
from flows.studio.project import Project, described, filled, plain_name
from tasks.core.errors import BadInput, RequestError
from tasks.microdata.build import from_groups
from tasks.request.model import GroupLevels
from tests.support.studio import CLINIC, project_at
from tests.support.world import ROOT


@pytest.fixture
def draft(tmp_path: Path) -> Project:
    shutil.copy(CLINIC, tmp_path)
    drafted([tmp_path / CLINIC.name], tmp_path)
    return project_at(tmp_path / "request.yaml")


def test_a_draft_is_not_valid_and_its_file_can_be_read_all_the_same(draft: Project) -> None:
    read = draft.read()
    assert read.error is not None
    assert {one.what for one in read.problems} == {"no value"}
    assert read.trial is not None
    assert read.has_stakes, "the draft has published amounts"
    assert read.columns is not None
    assert set(read.columns.request.attributes) == set(attributes_of(read.data))


def test_stakes_are_stated_once_every_recipient_has_all_three(draft: Project) -> None:
    draft.change({("recipients", 0, "stakes"): {"benefit": 1, "loss": 2, "cost": 3}})
    assert draft.read().has_stakes
    draft.change({("recipients", 1): {"id": "b", "stakes": {"benefit": 1, "loss": 2}}})
    assert not draft.read().has_stakes


def test_a_request_of_several_tables_can_be_read_by_its_columns() -> None:
    read = project_at(ROOT / "examples" / "hospital" / "request.yaml").read()
    assert read.error is None
    assert read.columns is not None
    assert set(read.columns.request.attributes) == set(read.trial.request.attributes) if read.trial else False


def test_a_change_keeps_the_mode_of_the_file(draft: Project) -> None:
    draft.path.chmod(0o640)
    draft.change({("title",): "Visits"})
    assert stat.S_IMODE(draft.path.stat().st_mode) == 0o640
    assert draft.read().value(("title",)) == "Visits"


def test_a_hierarchy_replaces_no_file(draft: Project) -> None:
    first, second = (from_groups("sex", GroupLevels(levels=({top: ("F", "M")},))) for top in ("*", "all"))
    place = ("attributes", "sex", "hierarchy")
    for table, file in ((first, "h.csv"), (second, "h-2.csv"), (first, "h.csv")):
        draft.change({place: {"file": "h.csv"}}, {"h.csv": table})
        assert draft.read().value(place) == {"file": file}
    assert (draft.path.parent / "h.csv").read_text() == "F;*\nM;*\n"


def test_another_text_takes_the_place_of_the_one_that_was_seen(draft: Project) -> None:
    read = draft.read()
    draft.replace(read.text.replace("title:", "title: Visits", 1), read.sha256)
    with pytest.raises(BadInput, match="changed meanwhile"):
        draft.replace(read.text, read.sha256)
    assert draft.read().value(("title",)) == "Visits"


def test_a_private_key_is_refused_and_not_repeated(draft: Project) -> None:
    key = "AGE-SECRET-KEY-1" + "Q" * 58
    with pytest.raises(RequestError, match="private key") as refused:
        draft.replace(f"title: {key}\n", draft.read().sha256)
    assert key not in str(refused.value)


@pytest.mark.parametrize("text", ["", "[1, 2]", "title: [", "a: &a [*a]", "recipients: [x, 7]\ntables: {t: 3}", "\x00"])
def test_whatever_the_document_holds_it_is_read_and_told(draft: Project, text: str) -> None:
    draft.path.write_text(text)
    read = draft.read()
    assert read.error is not None
    assert read.trial is None


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["role", "path", "id"]), inner, max_size=2)
    ),
    max_leaves=6,
)
KEYS = st.sampled_from(["dataset", "attributes", "tables", "recipients", "population", "policy", "title"])


@pytest.mark.slow
@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_blanks_are_filled_in_whatever_the_document_holds(data: dict[str, Any]) -> None:
    before = repr(data)
    filled(data)
    described(data)
    assert repr(data) == before


@pytest.mark.parametrize(
    ("name", "plain"),
    [("a/../b.CSV", "b.csv"), ("..\\x y.parquet", "x-y.parquet"), (".hidden", "data.hidden"), ("ä.csv.gz", "csv.gz")],
)
def test_names_of_files_have_no_way_out_of_their_folder(name: str, plain: str) -> None:
    assert plain_name(name) == plain
