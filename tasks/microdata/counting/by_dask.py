"""Coding and counting where the pieces of a file lie: one order a piece to the workers of a Dask cluster.

Workers see the file under the same path. Each makes sure that it reads the same bytes with the same program; what it
gives back is put together as if one machine had read the file, so that not a bit of a release depends on the cluster.

A Dask scheduler runs what it is sent: whoever can reach it can run programs on its workers and read what they read.
"""

import hashlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tasks.core.errors import BadInput, StageFailed
from tasks.core.files import file_sha256
from tasks.microdata.parts import FilePart, PartCoder, Piece

_TO_CONNECT = "15s"
_SOURCES = Path(__file__).resolve().parents[1]


@cache
def program() -> str:
    """Digest of what codes records: the sources of this folder's stage, and the libraries they rest on."""
    hasher = hashlib.sha256()
    for path in sorted(_SOURCES.rglob("*.py")):
        hasher.update(str(path.relative_to(_SOURCES)).encode() + b"\0" + path.read_bytes())
    hasher.update(f"{np.__version__} {pd.__version__} {pa.__version__}".encode())
    return hasher.hexdigest()


@dataclass(frozen=True)
class PieceOrder:
    """One piece to be coded by a worker, with the bytes and the program that are meant."""

    coder: PartCoder
    piece: Piece
    sha256: str
    """Of the file's bytes, as they are here."""
    program: str
    """Digest of the program that is to code them."""


def code_by_dask(address: str, coder: PartCoder, cut: Sequence[Piece]) -> list[FilePart] | None:
    """Parts of a file coded by the workers of a cluster, in the order of the pieces.

    None where some record has a quasi-identifier that is missing or outside its hierarchy. ``address`` is that of a
    running scheduler, such as ``tcp://10.0.0.5:8786``.

    Raises
    ------
    BadInput
        If Dask is not installed, or no scheduler or worker answers there.
    StageFailed
        If a worker sees other bytes, has another program, fails, or gives back other records.
    """
    sha256 = file_sha256(coder.path)
    orders = [PieceOrder(coder, piece, sha256, program()) for piece in cut]
    failure = ""
    answers: list[object] = []
    with closing(connect(address)) as client:
        try:
            answers = list(client.gather(client.map(code_order, orders, pure=False)))
        except Exception as error:
            failure = type(error).__name__
    # Raised out here so that the library's exception, which may quote a value, is not attached as context.
    if failure:
        raise _failed(address, "the Dask cluster did not finish its work", "every piece of the file coded", failure)
    for answer in answers:
        if isinstance(answer, str):
            what, got = _REASONS.get(answer, ("every piece of the file coded", answer))
            raise _failed(address, "a worker could not take its part of the file", what, got)
    if None in answers:
        return None
    parts = [answer for answer in answers if isinstance(answer, FilePart)]
    if len(parts) != len(cut) or not all(map(coder.is_whole, parts, cut)):
        what = "a worker gave back other records than it was to code"
        raise _failed(address, what, "every record of its piece of the file, once", "more or fewer")
    return parts


_REASONS = {
    "bytes": ("the file that the release is named by, under the same path on every worker", "another, or none"),
    "program": ("the same version of releasegate and its libraries on every worker", "another"),
}


def code_order(order: PieceOrder) -> FilePart | str | None:
    """Code one piece, on a worker; None as for ``PartCoder.code``.

    Any failure is reported in one word: an exception may quote a value.
    """
    path = order.coder.path
    try:
        if order.program != program():
            return "program"
        if not path.is_file() or _sha256_as_of(path, path.stat().st_size, path.stat().st_mtime_ns) != order.sha256:
            return "bytes"
        return order.coder.code(order.piece)
    except Exception as error:
        return type(error).__name__


@cache
def _sha256_as_of(path: Path, _size: int, _changed: int) -> str:
    """SHA-256 of a file, computed once by a worker as long as the file does not change."""
    return file_sha256(path)


def _failed(address: str, what: str, expected: str, got: str) -> StageFailed:
    return StageFailed(
        what,
        where=f"--dask {address}",
        expected=expected,
        got=got,
        fix="look at the workers, their memory and the network; or leave --dask out, for the same result",
    )


def connect(address: str) -> Any:
    """A ``distributed.Client`` of a running scheduler that has at least one worker.

    Raises
    ------
    BadInput
        If Dask is not installed, or no scheduler or worker answers there.
    """
    client, failure = None, "no worker"
    try:
        import distributed  # noqa: PLC0415  an extra

        make: Any = distributed.Client
        client = make(address, timeout=_TO_CONNECT, set_as_default=False)
        if client.scheduler_info(n_workers=-1)["workers"]:
            return client
    except ImportError:
        raise BadInput(
            "counting on several machines needs Dask, which is not installed",
            where=f"--dask {address}",
            expected="the extra “dask” of releasegate",
            got="neither dask nor distributed",
            fix="install it with: pip install 'releasegate[dask]'; or leave --dask out, for the same result",
        ) from None
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        failure = type(error).__name__
    if client is not None:
        client.close()
    raise BadInput(
        "the Dask cluster does not answer",
        where=f"--dask {address}",
        expected="a running scheduler with at least one worker, as tcp://host:port or tls://host:port",
        got=failure,
        fix="start it, or correct the address; without --dask this machine counts alone, with the same result",
    )


def check_cluster(address: str) -> None:
    """Make sure that a cluster answers, before anything else is begun; raises as ``connect``."""
    connect(address).close()
