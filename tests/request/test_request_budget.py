"""A budget over the whole file: accepted, or refused where it stands and with what to do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.core.errors import RequestError
from tasks.request.load import load_request

Refused = Callable[[str], RequestError]
VERSION = 'version: "3"'


def edited(text: str, terms: str) -> str:
    assert text.count(VERSION) == 1
    return text.replace(VERSION, f"{VERSION}\n  generalization: {{{terms}}}")


@pytest.mark.parametrize(
    ("terms", "what", "where"),
    [
        ("budget: {}", "name a limit", "budget"),
        ("budget: {suppression: null, utility_floor: {}}", "name a limit", "budget"),
        ("budget: {reidentifications: -1}", "0", "budget.reidentifications"),
        ("budget: {attacked_share: 0.1}, k_anonymity: {k: 5}", "exclude each other", "budget"),
        ("budget: {suppression: 0.1}, minimum_class_size: 5", "minimum_class_size", "minimum_class_size"),
        ("method: common, budget: {attacked_share: 0.1}", "per-record methods", "budget"),
        ("method: basic, budget: {least_records: 5}", "only to partitions", "budget.least_records"),
        ("budget: {utility_floor: {diagnosis: 0.9}}", "quasi-identifiers", "budget.utility_floor"),
    ],
)
def test_refused(good: str, refused: Refused, terms: str, what: str, where: str) -> None:
    error = refused(edited(good, terms))
    assert what in error.expected + error.what + error.fix
    assert error.where.endswith(f"policy.generalization.{where}")
    assert error.fix


def test_accepted(tmp_path: Path, good: str) -> None:
    path = tmp_path / "request.yaml"
    limits = "reidentifications: 3, attacked_share: 0.1, least_people: 5, least_records: 2, suppression: 0.01"
    path.write_text(edited(good, f"budget: {{{limits}, utility_floor: {{zip: 0.8}}}}"), encoding="utf-8")
    request = load_request(path).request
    found = request.policy.generalization.budget
    assert found is not None
    assert [value for _, value in found] == [3, 0.1, 5, 2, 0.01, {"zip": 0.8}]
    path.write_text(good, encoding="utf-8")
    assert load_request(path).request.policy.generalization.budget is None


@pytest.mark.parametrize(
    ("terms", "presence", "limits"),
    [
        ("adversary: sequential", "known", (12, 12)),
        ("adversary: one-shot", "known", (12, 1)),
        ("adversary: sequential", "unknown", (None, 12)),
        ("budget: {suppression: 0.1}", "known", (None, None)),
    ],
)
def test_limits_follow_from_the_gates(
    tmp_path: Path, good: str, terms: str, presence: str, limits: tuple[int | None, int | None]
) -> None:
    """1/11 is above 0.09, 1/12 is not."""
    path = tmp_path / "request.yaml"
    path.write_text(edited(good, terms).replace("presence: unknown", f"presence: {presence}"), encoding="utf-8")
    request = load_request(path).request
    assert request.budget is not None
    assert (request.budget.least_records, request.budget.least_people) == limits
    assert request.fewest_records == (limits[0] or 1)


@pytest.mark.parametrize(
    ("terms", "presence"),
    [
        ("adversary: one-shot", "unknown"),
        ("method: no-attack", "known"),
        ("minimum_class_size: 2", "known"),
        ("k_anonymity: {k: 5}", "known"),
        ("collusion: {recipients: all}", "known"),
    ],
)
def test_no_limits_follow_where_the_terms_have_others(tmp_path: Path, good: str, terms: str, presence: str) -> None:
    path = tmp_path / "request.yaml"
    path.write_text(edited(good, terms).replace("presence: unknown", f"presence: {presence}"), encoding="utf-8")
    assert load_request(path).request.budget is None
