"""The page on scale: its model is fitted to its own table, and its constants are the program's."""

import re
from pathlib import Path

import numpy as np
import pytest

from tasks.microdata.parts import ROWS_A_PIECE

PAGE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")


def table(heading: str) -> list[list[str]]:
    """Cells of the rows of the table below a heading."""
    part = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| ")]
    return rows[1:]


def number(cell: str) -> float:
    return float(cell.replace(",", ""))


def told(words: str) -> float:
    found = re.search(words.replace("#", r"([0-9][0-9,.]*)"), PAGE.replace("\n", " "))
    assert found, words
    return number(found.group(1))


def test_ten_million_records_take_the_target_s_processor_time_and_memory() -> None:
    records, _, processor, peak = (number(cell) for cell in table("The whole gate")[-1])
    assert records == 1e7
    assert processor <= 15 * 60
    assert peak <= 12 * 1024


def test_the_estimate_for_the_gate_is_fitted_to_its_table() -> None:
    rows = np.array([[number(cell) for cell in row] for row in table("The whole gate")])
    assert list(rows[:, 0]) == [1e5, 1e6, 1e7]
    _, _, processor, memory = (rows[-1] - rows[-2]) / 9
    assert told(r"the whole gate takes about # s of processor time") == pytest.approx(processor, abs=1)
    assert told(r"of processor time and # GiB") == pytest.approx(memory / 1024, abs=0.006)
    assert told(r"about # TB at 10⁹") == pytest.approx(1000 * memory * 2**20 / 1e12, abs=0.06)


def test_the_estimate_for_counting_is_fitted_to_its_table() -> None:
    rows = np.array([[number(cell) for cell in row] for row in table("Counting and scoring")])
    records, counting = rows[:, 0] / 1e6, rows[:, 5]
    assert list(records) == [1, 10, 100]
    assert rows[-1, 1] <= 120
    assert rows[-1, 3] <= 1.6 * rows[0, 3], "the population's cube takes most of the memory, not the file"
    assert told(r"a million records are counted in # s") == pytest.approx(counting[-1] / 100, abs=0.06)


def test_constants_are_the_program_s() -> None:
    assert told(r"in pieces of about # million records") == ROWS_A_PIECE / 1e6
