"""A folder in one sealed file: it comes back as it was, or not at all."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import tasks.delivery.pending
from tasks.core.errors import TamperingFound
from tasks.delivery.pending import open_folder, seal_folder

KEY = b"k" * 32
CANARY = b"canary7731"


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks.delivery.pending, "_CHUNK", 4096)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "delivery"
    (made / "hierarchies").mkdir(parents=True)
    (made / "data.csv").write_bytes(CANARY * 5000 + os.urandom(5000))
    (made / "hierarchies" / "age.csv").write_text("20;*\n")
    (made / "empty.json").write_bytes(b"")
    return made


@pytest.fixture
def sealed(folder: Path, tmp_path: Path) -> Path:
    seal_folder(folder, tmp_path / "pending" / "one.sealed", KEY)
    return tmp_path / "pending" / "one.sealed"


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_it_comes_back_as_it_was(folder: Path, sealed: Path, tmp_path: Path) -> None:
    assert CANARY not in sealed.read_bytes()
    assert len(sealed.read_bytes().splitlines()) > 10
    assert sealed.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in sealed.parent.iterdir()] == ["one.sealed"]
    open_folder(sealed, tmp_path / "opened", KEY)
    assert files(tmp_path / "opened") == files(folder)


def test_sealing_again_replaces_it(folder: Path, sealed: Path, tmp_path: Path) -> None:
    (folder / "data.csv").write_bytes(b"other")
    seal_folder(folder, sealed, KEY)
    open_folder(sealed, tmp_path / "opened", KEY)
    assert (tmp_path / "opened" / "data.csv").read_bytes() == b"other"


Change = Callable[[list[bytes]], list[bytes]]


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:-1],
        lambda lines: lines[1:],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]],
        lambda lines: [*lines[:3], *lines[2:]],
        lambda lines: [*lines[:-1], lines[-1][:-8] + b"AAAAAA=="],
        lambda lines: [*lines, b"more"],
        lambda _: [],
        lambda _: [b"not a token"],
    ],
)
def test_every_change_is_found(sealed: Path, tmp_path: Path, change: Change) -> None:
    lines = sealed.read_bytes().splitlines()
    sealed.write_bytes(b"".join(line + b"\n" for line in change(lines)))
    with pytest.raises(TamperingFound, match="not as it was") as caught:
        open_folder(sealed, tmp_path / "opened", KEY)
    assert CANARY.decode() not in str(caught.value)


def test_another_key_and_a_missing_file(sealed: Path, tmp_path: Path) -> None:
    with pytest.raises(TamperingFound):
        open_folder(sealed, tmp_path / "opened", b"o" * 32)
    sealed.unlink()
    with pytest.raises(TamperingFound, match="not as it was") as caught:
        open_folder(sealed, tmp_path / "opened", KEY)
    assert caught.value.got == "no such file"
