"""Which process a stage runs in."""

import contextvars
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from flows.pipeline.workers import Workers


@pytest.fixture(params=[1, 2])
def workers(request: pytest.FixtureRequest) -> Iterator[Workers]:
    made = Workers(request.param)
    yield made
    made.end()


def test_stages_of_a_block_run_in_the_worker_that_it_holds(workers: Workers) -> None:
    with workers.holding():
        with workers.taking() as first:
            pass
        with workers.taking() as second:
            pass
    assert first is second


@pytest.mark.parametrize("workers", [2], indirect=True)
def test_an_idle_worker_helps_a_block_whose_own_is_busy(workers: Workers) -> None:
    with workers.holding(), workers.taking() as own, workers.taking() as other:
        assert own is not other


@pytest.mark.parametrize("workers", [1], indirect=True)
def test_a_stage_waits_for_the_worker_of_its_block_where_no_other_is_idle(workers: Workers) -> None:
    def take() -> bool:
        with workers.taking():
            return True

    with workers.holding(), ThreadPoolExecutor(1) as threads:
        with workers.taking():
            waiting = threads.submit(contextvars.copy_context().run, take)
            assert not wait([waiting], timeout=0.2).done
        assert waiting.result(timeout=10)


@pytest.mark.parametrize("workers", [2], indirect=True)
def test_a_block_that_waits_goes_before_stages_of_another(workers: Workers) -> None:
    def hold() -> bool:
        with workers.holding():
            return True

    with ThreadPoolExecutor(1) as threads:
        with workers.holding(), workers.taking() as own:
            with workers.taking() as other:
                block = threads.submit(contextvars.Context().run, hold)
                assert not wait([block], timeout=0.2).done
            assert block.result(timeout=10)
        assert own is not other
