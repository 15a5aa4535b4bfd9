"""The audit of dependencies finds what it is for; the environment that runs the tests passes it."""

import subprocess
import sys
from email.message import Message
from pathlib import Path

import pytest

from deployments.dependencies import Locked, not_accepted, not_as_locked, not_locked, read_lock

ROOT = Path(__file__).parents[2]
HASH = "    --hash=sha256:" + "0" * 64


def test_this_environment_is_as_locked() -> None:
    line = [sys.executable, ROOT / "deployments" / "dependencies.py"]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("licences accepted\n")


def test_every_file_of_pinned_packages_has_hashes_and_names_no_host() -> None:
    for path in (ROOT / "requirements.lock", *(ROOT / "deployments").glob("requirements-*.txt")):
        text = path.read_text()
        found, wrong = read_lock(text)
        assert found
        assert wrong == []
        assert "://" not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"good==1.0 \\\n{HASH}\n", []),
        (f"good==1.0 ; sys_platform == 'win32' \\\n{HASH} \\\n{HASH}\n    # via other\n", []),
        ("bare==1.0\n", ["bare 1.0 has no hash"]),
        (f"bare==1.0\ngood==2 \\\n{HASH}\n", ["bare 1.0 has no hash"]),
        (f"loose>=1.0 \\\n{HASH}\n", ["line 1 of the lock", "line 2 of the lock"]),
        (f"good==1.0 \\\n{HASH}\nbad @ https://example.org/bad.whl\n", ["line 3 of the lock"]),
        (f"good==1.0 \\\n{HASH}\n--extra-index-url https://example.org\n", ["line 3 of the lock"]),
        ("good==1.0 \\\n    --hash=md5:00\n", ["line 2 of the lock", "good 1.0 has no hash"]),
    ],
)
def test_a_lock_names_exact_versions_by_sha256_and_nothing_else(text: str, expected: list[str]) -> None:
    wrong = read_lock(text)[1]
    assert len(wrong) == len(expected)
    assert all(found.startswith(part) for found, part in zip(wrong, expected, strict=True))


def test_what_is_asked_for_is_in_the_lock() -> None:
    project = {
        "project": {
            "dependencies": ["Good_Name>=1", "missing"],
            "optional-dependencies": {"more": ["old>=2"]},
        }
    }
    lock = [Locked("good-name", "1.5", "", 1), Locked("old", "1.0", "", 1)]
    assert list(not_locked(project, lock)) == [
        "missing is asked for and not in the lock",
        "old is in the lock in a version that pyproject.toml does not allow",
    ]


def test_an_environment_is_what_the_lock_says() -> None:
    lock = [
        Locked("same", "1.0", "", 1),
        Locked("other", "1.0", "", 1),
        Locked("gone", "1.0", "", 1),
        Locked("elsewhere", "1.0", "sys_platform == 'nowhere'", 1),
    ]
    installed = {"same": "1.0", "other": "1.1", "extra": "3", "pip": "25", "uv": "0.1", "releasegate": "0.1.0"}
    assert list(not_as_locked(installed, lock)) == [
        "extra is installed and not in the lock",
        "gone is in the lock and not installed",
        "other is installed in another version than the lock has",
    ]


@pytest.mark.parametrize(
    ("fields", "fine"),
    [
        ([("License-Expression", "MIT")], True),
        ([("License-Expression", "Apache-2.0 OR GPL-3.0-only")], True),
        ([("License-Expression", "MIT AND GPL-3.0-only")], False),
        ([("License-Expression", "BSD-3-Clause AND (Apache-2.0 OR MIT)")], True),
        ([("License-Expression", "GPL-3.0-only AND (Apache-2.0 OR MIT)")], False),
        ([("Classifier", "License :: OSI Approved"), ("License", "MIT")], True),
        ([("Classifier", "License :: OSI Approved :: GNU General Public License v3 (GPLv3)")], False),
        ([("License", "Proprietary")], False),
        ([], False),
    ],
)
def test_licences_are_those_that_were_looked_at(fields: list[tuple[str, str]], fine: bool) -> None:
    package = Message()
    for name, value in [("Name", "anything"), *fields]:
        package[name] = value
    assert (not_accepted(package) is None) is fine
