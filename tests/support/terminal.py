"""A command in a terminal of its own, and a person who answers its prompts."""

import os
import pty
import re
import select
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes import forked

ROOT = Path(__file__).parents[2]
CTRL_C, CTRL_D = "\x03", "\x04"
_STYLES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_PATIENCE = 120.0
"""Seconds until a command that waits for nothing is taken to hang."""


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
    settings = {"COLUMNS": "80", "TERM": "xterm", "PYTHONPATH": paths, **(environment or {})}
    child = forked(_command, os.ttyname(its_end), str(folder), settings, [str(one) for one in arguments])
    child.start()
    # Held until the command has it open: a terminal whose other end nobody holds reads as closed.
    while child.is_alive() and not select.select([terminal], [], [], 0.02)[0]:
        pass
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
            child.join()
            raise AssertionError(f"no answer to: {now}")
    else:
        child.kill()
        child.join()
        raise AssertionError(f"neither a prompt nor an end: {_plain(raw)[-500:]}")
    child.join()
    os.close(terminal)
    return Session(child.exitcode or 0, _plain(raw), tuple(prompts))


def _command(terminal: str, folder: str, environment: Mapping[str, str], arguments: Sequence[str]) -> None:
    """The command, in a process whose terminal it is: the first one that the leader of a session opens."""
    os.setsid()
    for number in range(3):
        os.dup2(os.open(terminal, os.O_RDWR), number)
    streams = (open(number, mode, buffering=1) for number, mode in enumerate("rww"))  # noqa: SIM115 - to its end
    sys.stdin, sys.stdout, sys.stderr = streams
    os.chdir(folder)
    os.environ.update(environment)
    sys.argv = ["releasegate", *arguments]
    from flows.cli import main

    main()


def _plain(raw: bytes) -> str:
    return _STYLES.sub("", raw.decode(errors="replace")).replace("\r\n", "\n")


def _prompt(raw: bytes) -> str:
    """The prompt that waits for an answer; empty where there is none."""
    text = _plain(raw)
    last = text.rsplit("\n\n", 1)[-1]
    return " ".join(last.split()) if text.rstrip(" ").endswith(":") else ""
