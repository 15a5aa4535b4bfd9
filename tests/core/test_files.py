"""Array files, read by several threads at once.

Without a lock, CPython 3.11 fails where the threads' stacks differ in depth.
"""

import gc
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tasks.core.files import opened_arrays, save_arrays


@pytest.fixture
def collecting_often() -> Iterator[None]:
    """Garbage is collected within reads, and each collection lets another thread run."""

    def give_way(*_: object) -> None:
        time.sleep(0.0001)

    before = gc.get_threshold()
    gc.callbacks.append(give_way)
    gc.set_threshold(5)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(give_way)


@pytest.mark.usefixtures("collecting_often")
def test_threads_read_arrays_at_once(tmp_path: Path) -> None:
    save_arrays(tmp_path / "arrays.npz", {}, **{f"a{number}": np.arange(number) for number in range(30)})

    def sums(depth: int) -> list[int]:
        if depth:
            return sums(depth - 1)
        with opened_arrays(tmp_path / "arrays.npz") as arrays:
            return [int(arrays[f"a{number}"].sum()) for number in range(30) for _ in range(10)]

    expected = [number * (number - 1) // 2 for number in range(30) for _ in range(10)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(sums, range(0, 40, 5))) == [expected] * 8
