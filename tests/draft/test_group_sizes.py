"""Sizes of groups that amounts lead to, told while a request is drafted: those that the release comes to."""

from typing import Any

import pytest

from tasks.draft.group_sizes import Crowd, group_sizes_in_words

PUBLISHED = {"benefit": 1200, "loss": 300, "cost": 4}
SAMPLE = Crowd(230_000, {"size": 230_000}, "unknown")
SMALL = Crowd(600, {"self": True}, "known")
PENALTY: dict[str, Any] = {"id": "DUA-7", "expires": "2030-12-31", "penalty": 2000}
FEW = " The file is small for that, with 600 people: "


def told(agreement: dict[str, Any], crowd: Crowd, **stakes: float) -> str:
    return group_sizes_in_words(agreement, PUBLISHED | stakes, crowd)


def test_published_amounts_and_a_penalty() -> None:
    """Repeated attempts at 4 that gain 300 pay below 148 people; at 1 over 0.09 the gates take 12."""
    alone = "At these amounts repeated attempts pay for groups of fewer than 148 people; each record will be put into a"
    assert told(PENALTY, SAMPLE) == f"{alone} group of at least 148."
    assert told(PENALTY | {"detection_rate": 0.01}, SAMPLE).endswith("148. With the penalty, 26 are enough.")
    demanded = "148. With the penalty, 12 are enough, which the gates demand."
    assert told(PENALTY | {"detection_rate": 0.2}, SAMPLE).endswith(demanded)
    assert told(PENALTY | {"penalty": 1, "detection_rate": 1e-6}, SAMPLE).endswith("The penalty does not change that.")


def test_gates_demand_more_than_the_amounts() -> None:
    assert told({}, SAMPLE, cost=300) == (
        "At these amounts no attempt pays; each record will be put into a group of at least 12, as the gates demand."
    )
    assert "fewer than 5 people; each record will be put into a group of at least 12, as" in told({}, SAMPLE, cost=100)


@pytest.mark.parametrize(("people", "few"), [(1479, True), (1480, False)])
def test_a_file_of_fewer_than_ten_groups_is_small(people: int, few: bool) -> None:
    words = told({}, Crowd(people, {"self": True}, "known"))
    assert (
        f"{people:,} people: a penalty with its chance of detection, or a statement that it is a sample" in words
    ) is few
    assert "small for" not in told({}, Crowd(people, {"size": people}, "unknown"))


def test_a_penalty_that_is_stated_is_not_asked_for_again() -> None:
    assert FEW not in told(PENALTY | {"detection_rate": 0.2}, SMALL)
    words = told(PENALTY | {"detection_rate": 0.0001}, SMALL)
    assert f"{FEW}a statement that it is a sample" in words


def test_an_attempt_that_costs_next_to_nothing_pays_for_any_group() -> None:
    assert told({}, SAMPLE, cost=1e-9, loss=1e9) == "At these amounts repeated attempts pay for groups of any size."
