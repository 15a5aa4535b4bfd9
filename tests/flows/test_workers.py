"""Which process a stage runs in."""

import contextvars
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from flows.pipeline.workers import Workers
from tests.support.processes import exit_code

ROOT = Path(__file__).parents[2]


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


@pytest.mark.slow
def test_workers_are_those_of_this_package_in_a_folder_with_other_flows(tmp_path: Path) -> None:
    """The command runs where people of Prefect have their own package of this name."""
    script, home = tmp_path / "script" / "command.py", tmp_path / "home" / "flows"
    for folder in (script.parent, home):
        folder.mkdir(parents=True)
    (home / "__init__.py").write_text("print('theirs')\n")
    script.write_text(
        "from flows.pipeline.workers import Workers, start_fork_server\n"
        "if __name__ == '__main__':\n"
        "    start_fork_server()\n"
        "    workers = Workers(1)\n"
        "    with workers.taking() as worker:\n"
        "        print(worker.submit(abs, -3).result(timeout=60))\n"
        "    workers.end()\n"
    )
    ran = subprocess.run(
        [sys.executable, script], cwd=home.parent, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ran.stdout, ran.returncode) == ("3\n", 0), ran.stderr


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize("module", ["flows.pipeline.preloaded", "tasks.decision.explain.explain"])
def test_the_process_that_workers_are_forked_from_has_one_thread(module: str) -> None:
    """A child of one with threads may wait for ever for a lock that one of them held."""
    script = (
        "import os\n"
        "from flows.pipeline.second_process import in_second_process\n"
        "from flows.pipeline.workers import start_fork_server\n"
        f"start_fork_server(preloaded='{module}')\n"
        "print(len(os.listdir(f'/proc/{in_second_process(os.getppid)()}/task')))\n"
    )
    unset = ("OPENBLAS", "OMP_", "JE_ARROW")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(unset)}
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=inherited | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ran.stdout, ran.returncode) == ("1\n", 0), ran.stderr


def parent_has_one_thread() -> None:
    assert len(os.listdir(f"/proc/{os.getppid()}/task")) == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_the_process_that_those_of_tests_are_forked_from_has_one_thread() -> None:
    assert exit_code(parent_has_one_thread) == 0


@pytest.mark.slow
def test_what_few_releases_use_is_not_imported_ahead() -> None:
    script = (
        "import sys, flows.pipeline.preloaded\n"
        "print([name for name in sys.modules if name.startswith(('altair.', 'scipy.stats.', 'sqlalchemy'))])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ran.stdout, ran.returncode) == ("[]\n", 0), ran.stderr
