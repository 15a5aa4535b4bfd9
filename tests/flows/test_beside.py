"""Work in a second process: its result, what it raises, and that it ends without one."""

import os
from functools import partial

import pytest

from flows.pipeline.second_process import in_second_process
from tasks.core.errors import BadInput, StageFailed


def process_and(held: list[int]) -> tuple[int, list[int]]:
    return os.getpid(), held


def test_the_result_comes_from_a_process_of_its_own_that_sees_what_was_held_then() -> None:
    held = [1]
    result = in_second_process(partial(process_and, held))
    held.append(2)  # afterwards
    process, seen = result()
    assert process != os.getpid()
    assert seen == [1]


def fails() -> None:
    raise BadInput("a bad input", where="somewhere", fix="mend it")


def test_what_the_work_raises_is_raised_where_its_result_is_awaited() -> None:
    result = in_second_process(fails)
    with pytest.raises(BadInput) as caught:
        result()
    assert caught.value.fix == "mend it"


def test_work_that_ends_without_a_result_fails() -> None:
    result = in_second_process(partial(os._exit, 9))
    with pytest.raises(StageFailed, match="without a result"):
        result()
