"""The page on signed determinations: its commands run, one after the other."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

import flows.workspace.actor
from flows.cli.app import main
from flows.cli.sign import PASSPHRASE
from tests.support.certificates import SECRET, key_pem, p12, pem, pki, private
from tests.support.determined import Noon, determined

PAGE = (Path(__file__).parents[2] / "docs" / "signatures.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (releasegate .+)$|`(releasegate sign [^`]+--pem[^`]+)`", PAGE, re.MULTILINE)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the page takes for granted."""
    own = pki().credentials()
    private(tmp_path / "expert.p12", p12(own))
    private(tmp_path / "key.pem", key_pem(own.key))
    private(tmp_path / "cert.pem", pem(own.certificate))
    private(tmp_path / "chain.pem", pem(pki().middle.certificate))
    private(tmp_path / "root.pem", pem(pki().top.certificate))
    (tmp_path / "auditor").mkdir()
    determined(tmp_path / "workspace")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(flows.workspace.actor, "datetime", Noon)
    monkeypatch.setenv(PASSPHRASE, SECRET)
    monkeypatch.delenv("RELEASEGATE_WORKSPACE", raising=False)
    return tmp_path


def test_the_commands_of_the_page_run(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [block or inline for block, inline in COMMANDS]
    (bundle,) = (place / "workspace" / "releases").iterdir()
    ran = set()
    for line in lines:
        words = [str(bundle) if word == "BUNDLE" else word for word in shlex.split(line)]
        monkeypatch.setattr("sys.argv", words)
        with pytest.raises(SystemExit) as left:
            main()
        assert left.value.code == 0, line
        ran.add(words[1])
        for signed in bundle.glob("signed/university/*.pdf"):
            shutil.copy(signed, place / "kept.pdf")
            shutil.copy(signed, place / "auditor" / "determination.pdf")
    assert ran == {"sign", "verify"}
    assert len(lines) == 7
