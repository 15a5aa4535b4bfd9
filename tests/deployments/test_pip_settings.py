import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deployments.pip_settings import uv_environment

SCRIPT = Path(__file__).parents[2] / "deployments" / "pip_settings.py"


def test_each_pip_setting_becomes_its_uv_counterpart(tmp_path: Path) -> None:
    settings = {
        "index-url": "https://index.example/simple",
        "extra-index-url": f"https://more.example/simple file://{tmp_path} file:///no/such/directory",
        "find-links": f"{tmp_path} /no/such/directory",
        "cert": "/etc/ca.pem",
        "proxy": "http://proxy.example:3128",
        "no-index": "true",
    }
    assert uv_environment(settings, {}) == {
        "UV_DEFAULT_INDEX": "https://index.example/simple",
        "UV_INDEX": f"https://more.example/simple file://{tmp_path}",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": str(tmp_path),
        "UV_NO_INDEX": "1",
        "SSL_CERT_FILE": "/etc/ca.pem",
        "HTTPS_PROXY": "http://proxy.example:3128",
        "HTTP_PROXY": "http://proxy.example:3128",
    }


def test_what_is_already_set_for_uv_is_left_alone() -> None:
    settings = {"cert": "/etc/pip.pem", "index-url": "https://pip.example", "proxy": "http://pip.example"}
    present = {"SSL_CERT_FILE": "/etc/mine.pem", "https_proxy": "http://mine", "HTTP_PROXY": "http://mine"}
    assert uv_environment(settings, present) == {"UV_DEFAULT_INDEX": "https://pip.example"}


def test_a_lock_file_is_never_made_from_additional_sources(tmp_path: Path) -> None:
    settings = {
        "extra-index-url": f"file://{tmp_path}",
        "find-links": str(tmp_path),
        "index-url": "https://all.example",
    }
    assert uv_environment(settings, {}, locking=True) == {"UV_DEFAULT_INDEX": "https://all.example"}


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a POSIX shell")
def test_the_printed_exports_survive_the_shell(tmp_path: Path) -> None:
    odd = tmp_path / "a directory; echo $HOME"
    odd.mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}
    environment |= {"PIP_CERT": f"{odd}/ca.pem"}
    shell = f'settings=$("{sys.executable}" "{SCRIPT}") && eval "$settings" && printf %s "$SSL_CERT_FILE"'
    result = subprocess.run(["sh", "-c", shell], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout == f"{odd}/ca.pem"
