"""A command in a terminal of its own, and a person who answers its prompts."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CTRL_C, CTRL_D = "\x03", "\x04"
_STYLES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_PATIENCE = 120.0
"""Seconds until a command that waits for nothing is taken to hang."""
_START = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # Ctrl-C in it is for this process
sys.argv[0] = 'releasegate'
from flows.cli import main
sys.exit(main())
"""


@dataclass(frozen=True)
class Session:
    """What a terminal showed, and how the command ended."""

    code: int
    shown: str
    """All of it, without colours."""
    asked: tuple[str, ...]
    """The prompts that were answered, in their order."""


def in_terminal(
    arguments: Sequence[str | Path], answers: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> Session:
    """Run ``releasegate`` in a terminal of 80 columns; a prompt is a line that ends in a colon and waits.

    Raises AssertionError where the command asks more than there are answers, or hangs.
    """
    terminal, its_end = pty.openpty()
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    settings = {**os.environ, "COLUMNS": "80", "TERM": "xterm", "PYTHONPATH": paths, **(environment or {})}
    child = subprocess.Popen(
        [sys.executable, "-c", _START, *map(str, arguments)], cwd=folder, env=settings, start_new_session=True,
        stdin=its_end, stdout=its_end, stderr=its_end,
    )  # fmt: skip
    os.close(its_end)
    raw, prompts, left, answered = b"", list[str](), list(answers), 0
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.02)[0]:
            try:
                raw += (piece := os.read(terminal, 65536))
            except OSError:  # the other end is closed
                piece = b""
            if not piece:
                break
        elif (now := _prompt(raw[answered:])) and left:
            prompts.append(now)
            answered, end = len(raw), time.monotonic() + _PATIENCE
            answer = left.pop(0)
            os.write(terminal, answer.encode() if answer in (CTRL_C, CTRL_D) else f"{answer}\n".encode())
        elif now:
            os.write(terminal, CTRL_C.encode())
            child.wait()
            raise AssertionError(f"no answer to: {now}")
    else:
        child.kill()
        child.wait()
        raise AssertionError(f"neither a prompt nor an end: {_plain(raw)[-500:]}")
    code = child.wait()
    os.close(terminal)
    return Session(code, _plain(raw), tuple(prompts))


def _plain(raw: bytes) -> str:
    return _STYLES.sub("", raw.decode(errors="replace")).replace("\r\n", "\n")


def _prompt(raw: bytes) -> str:
    """The prompt that waits for an answer; empty where there is none."""
    text = _plain(raw)
    last = text.rsplit("\n\n", 1)[-1]
    return " ".join(last.split()) if text.rstrip(" ").endswith(":") else ""
