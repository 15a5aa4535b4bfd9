"""Quick figures against those of a release, sizes of groups by hand, and designs that nothing beats."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flows.actions.drafting import drafted
from flows.studio.project import Project, ReadRequest
from flows.studio.quick import LevelGroups, Quick, changed, possible_designs
from tasks.assessments.registry import IDENTITY
from tasks.candidate.candidate import CandidateSource
from tasks.microdata.build import from_groups
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_data
from tasks.request.load import LoadedRequest
from tasks.request.model import GroupLevels, Measure
from tests.support.studio import answered, project_at, small_file


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("small")
    (folder / "visits.csv").write_text(small_file())
    drafted([folder / "visits.csv"], folder)
    found = project_at(folder / "request.yaml")
    found.change(answered())
    return found


@pytest.fixture(scope="module")
def read(project: Project) -> ReadRequest:
    return project.read()


@pytest.fixture(scope="module")
def loaded(read: ReadRequest) -> LoadedRequest:
    assert read.error is None
    assert read.trial is not None
    return read.trial


@pytest.fixture(scope="module")
def quick() -> Quick:
    return Quick()


def test_figures_are_those_of_the_assessment(quick: Quick, loaded: LoadedRequest) -> None:
    """A partition is not searched for without end, so that quick figures are exact."""
    frame = read_data(loaded)
    source = CandidateSource(loaded.request, prepare(loaded, frame), frame, lambda _: np.random.default_rng(0))
    expected = IDENTITY.measures(source.candidate(loaded.request.recipients[0]))
    found = quick.figures(loaded, "registry")
    assert {measure: found.figures[measure] for measure in expected} == expected
    assert found.failure == ""
    assert found.passes
    assert all(gate.measured is not None for gate in found.gates)
    assert "Records whose group (class) discloses a sensitive value" in found.later


def test_remainder_classes_are_found_quickly_and_keep_the_budget(
    quick: Quick, project: Project, read: ReadRequest
) -> None:
    """Classes of at least 12 records, as the gate on the prosecutor risk asks for; never more is kept than by a run."""
    trial = project.trial(changed(read.data, {("recipients", 0, "method"): "no-attack-remainder"}))
    assert trial is not None
    frame = read_data(trial)
    source = CandidateSource(trial.request, prepare(trial, frame), frame, lambda _: np.random.default_rng(0))
    full = IDENTITY.measures(source.candidate(trial.request.recipients[0]))
    found = quick.figures(trial, "registry").figures
    assert found[Measure.SMALLEST_CLASS] >= 12
    assert found[Measure.TRANSPARENT_ATTACKED] == 0
    assert 0.9 * full[Measure.INFORMATION_KEPT] <= found[Measure.INFORMATION_KEPT]
    assert found[Measure.INFORMATION_KEPT] <= full[Measure.INFORMATION_KEPT] + 1e-9


def test_a_change_of_terms_changes_the_figures(quick: Quick, project: Project, read: ReadRequest) -> None:
    kept = []
    for k in (2, 13, 60):
        changes = {("recipients", 0, "method"): "k-anonymity", ("policy", "generalization", "k_anonymity", "k"): k}
        trial = project.trial(changed(read.data, changes))
        assert trial is not None
        kept.append(quick.figures(trial, "registry").figures[Measure.INFORMATION_KEPT])
    assert kept[0] > kept[1] > kept[2], "the larger the classes, the less is kept"


def test_what_is_kept_from_other_terms_changes_no_figure(quick: Quick, project: Project, read: ReadRequest) -> None:
    """Cells of a method, from before k was demanded or under another k, are joined as if they were found anew."""
    demands = ("policy", "generalization", "k_anonymity")
    tried: list[dict[str, Any]] = [{}, {"k": 7}, {"k": 20}, {}, {"k": 20, "suppression_limit": 0.3}, {"k": 7}]
    for terms in tried:
        trial = project.trial(changed(read.data, {(*demands, name): value for name, value in terms.items()}))
        assert trial is not None
        found, anew = quick.figures(trial, "registry"), Quick().figures(trial, "registry")
        assert found == anew


def test_what_gives_no_file_says_why(quick: Quick, project: Project, read: ReadRequest) -> None:
    changes = {("recipients", 0, "method"): "k-anonymity", ("policy", "generalization", "k_anonymity", "k"): 145}
    trial = project.trial(changed(read.data, changes))
    assert trial is not None
    found = quick.figures(trial, "registry")
    assert found.failure.startswith("the least class size is larger than the file")
    assert found.gates == ()
    assert not found.passes


def test_groups_are_counted_by_level(quick: Quick, loaded: LoadedRequest) -> None:
    """72 of each sex."""
    assert quick.levels(loaded, "sex", 73) == [LevelGroups(0, 2, 72, 144), LevelGroups(1, 1, 144, 0)]


def test_groups_are_counted_from_the_finest_level_that_may_leave(
    quick: Quick, project: Project, read: ReadRequest, loaded: LoadedRequest
) -> None:
    trial = project.trial(changed(read.data, {("attributes", "age", "level"): 1}))
    assert trial is not None
    assert quick.levels(trial, "age", 49) == quick.levels(loaded, "age", 49)[1:]


def test_groups_of_another_hierarchy_are_counted_before_it_is_saved(quick: Quick, loaded: LoadedRequest) -> None:
    """48 of each town: two of three together are 96."""
    other = from_groups("town", GroupLevels(levels=({"a": ("north", "south"), "b": ("west",)}, {"*": ("a", "b")})))
    sizes = quick.levels(loaded, "town", 49, other)
    assert sizes == [LevelGroups(0, 3, 48, 144), LevelGroups(1, 2, 48, 48), LevelGroups(2, 1, 144, 0)]


def test_designs_are_tried_a_few_at_a_time_and_the_best_are_marked(
    quick: Quick, project: Project, read: ReadRequest
) -> None:
    found = quick.designs(project, read, 0, 0.0)
    assert found.left > 0
    while found.left:
        before, found = found.left, quick.designs(project, read, 0, 0.5)
        assert found.left < before
    assert len(found.points) + len(found.failed) == len(list(possible_designs(read, 0)))
    assert found.points[0].design.is_present
    for one in found.points:
        beaten = any(
            other.risk <= one.risk
            and other.payoff >= one.payoff
            and (other.risk, other.payoff) != (one.risk, one.payoff)
            for other in found.points
        )
        assert one.is_efficient is not beaten
    assert found.measure is Measure.PROSECUTOR_MAXIMUM
    assert found.limit == pytest.approx(0.09)


def test_a_design_is_what_its_changes_make_of_the_request(quick: Quick, project: Project, read: ReadRequest) -> None:
    design = next(one for one in possible_designs(read, 0) if one.name == "k-anonymity, k = 11")
    trial = project.trial(changed(read.data, design.changes))
    assert trial is not None
    assert quick.figures(trial, "registry").figures[Measure.SMALLEST_CLASS] >= 11


def test_a_file_that_was_written_since_is_read_again(quick: Quick, tmp_path: Path, project: Project) -> None:
    shutil.copytree(project.path.parent, tmp_path / "copy")
    other = project_at(tmp_path / "copy" / "request.yaml")
    found = other.read().trial
    assert found is not None
    assert quick.figures(found, "registry").records.came_in == 144
    data = other.path.parent / "visits.csv"
    data.write_text("".join(data.read_text().splitlines(keepends=True)[:97]))
    assert quick.figures(found, "registry").records.came_in == 96
