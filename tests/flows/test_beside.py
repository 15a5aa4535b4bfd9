"""Work beside other work: its result, what it raises, and that it ends without one."""

import os

import pytest

from flows.beside import beside
from tasks.core.errors import BadInput, StageFailed


def test_the_result_comes_from_a_process_of_its_own_that_sees_what_is_in_memory() -> None:
    held = [1]
    result = beside(lambda: (os.getpid(), list(held)))
    held.append(2)  # afterwards
    process, seen = result()
    assert process != os.getpid()
    assert seen == [1]


def test_what_the_work_raises_is_raised_where_its_result_is_awaited() -> None:
    def work() -> None:
        raise BadInput("a bad input", where="somewhere", fix="mend it")

    result = beside(work)
    with pytest.raises(BadInput) as caught:
        result()
    assert caught.value.fix == "mend it"


def test_work_that_ends_without_a_result_fails() -> None:
    result = beside(lambda: os._exit(9))
    with pytest.raises(StageFailed, match="without a result"):
        result()
