"""Print pip's own settings as shell exports for uv, so that one configured package source serves both.

Whoever set an index, a certificate or a proxy for pip (environment, ``pip.conf``) need not set it again. A variable
that uv would read and that is already set is left alone. Local directories that do not exist are skipped, as pip does.

``python deployments/pip_settings.py [--locking]``; with ``--locking`` additional indexes and directories are left out:
a lock file made from a partial mirror would accept only the files which that mirror holds.
"""

import ast
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

_ADDITIONAL = ("extra-index-url", "find-links")


def pip_settings() -> dict[str, str]:
    """Settings that ``pip install`` would use, by option name; the environment wins over files."""
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    ranked: dict[str, tuple[int, str]] = {}
    for line in listing.splitlines():
        name, _, value = line.partition("=")
        section, _, option = name.rpartition(".")
        rank = {"global": 0, "install": 1, ":env:": 2}.get(section)
        if rank is not None and rank >= ranked.get(option, (0, ""))[0]:
            ranked[option] = (rank, str(ast.literal_eval(value)))
    return {option: value for option, (_, value) in ranked.items()}


def uv_environment(settings: Mapping[str, str], present: Mapping[str, str], *, locking: bool = False) -> dict[str, str]:
    """Variables for uv that say what pip's settings say.

    Parameters
    ----------
    settings : mapping
        pip's options and their values.
    present : mapping
        The environment; a variable that it holds is not set again.
    locking : bool
        Leave additional sources out.
    """
    kept = {option: value for option, value in settings.items() if not (locking and option in _ADDITIONAL)}
    indexes = [url for url in kept.get("extra-index-url", "").split() if _exists(url)]
    links = [url for url in kept.get("find-links", "").split() if _exists(url)]
    wanted = {
        "UV_DEFAULT_INDEX": kept.get("index-url", ""),
        "UV_INDEX": " ".join(indexes),
        "UV_INDEX_STRATEGY": "unsafe-best-match" if indexes else "",
        "UV_FIND_LINKS": ",".join(links),
        "UV_NO_INDEX": "1" if kept.get("no-index", "").lower() in {"1", "true", "yes", "on"} else "",
        "UV_INSECURE_HOST": " ".join(kept.get("trusted-host", "").split()),
        "UV_HTTP_TIMEOUT": kept.get("timeout", kept.get("default-timeout", "")),
        "SSL_CERT_FILE": kept.get("cert", ""),
        "SSL_CLIENT_CERT": kept.get("client-cert", ""),
        "HTTPS_PROXY": kept.get("proxy", ""),
        "HTTP_PROXY": kept.get("proxy", ""),
    }
    return {name: value for name, value in wanted.items() if value and not _is_set(name, present)}


def _exists(source: str) -> bool:
    parts = urlsplit(source)
    if parts.scheme == "file":
        return Path(unquote(parts.path)).exists()
    return bool(parts.scheme) or Path(source).exists()


def _is_set(name: str, present: Mapping[str, str]) -> bool:
    return bool(present.get(name) or (name.endswith("_PROXY") and present.get(name.lower())))


if __name__ == "__main__":
    for variable, setting in uv_environment(pip_settings(), os.environ, locking="--locking" in sys.argv[1:]).items():
        sys.stdout.write(f"export {variable}={shlex.quote(setting)}\n")
