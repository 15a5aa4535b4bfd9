"""Coding and counting where the pieces of a file lie: one order a piece to the workers of a Dask cluster.

Workers see the file under the same path. Each makes sure that it reads the same bytes with the same program; what it
gives back is put together as if one machine had read the file, so that not a bit of a release depends on the cluster.

A Dask scheduler runs what it is sent: whoever can reach it can run programs on its workers and read what they read.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tasks.core.errors import BadInput, DataError, StageFailed
from tasks.microdata.counting.wire import Order, Refusal, pack_answer, pack_order, unpack_answer, unpack_order
from tasks.microdata.parts import Part, code_part
from tasks.microdata.row_groups import piece_sha256, read_piece

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


def code_by_dask(address: str, orders: Sequence[Order]) -> list[Part] | None:
    """Have pieces coded by the workers of a cluster.

    Parameters
    ----------
    address : str
        Of a running scheduler, such as ``tcp://10.0.0.5:8786``.
    orders : sequence of Order

    Returns
    -------
    list of Part, or None
        In the order of the pieces; None where some record has a quasi-identifier that is missing or outside its
        hierarchy.

    Raises
    ------
    BadInput
        If Dask is not installed, or no scheduler or worker answers there.
    StageFailed
        If a worker sees other bytes, has another program, or fails.
    """
    with _client(address) as client:
        failure = ""
        answers: list[object] = []
        try:
            sent = client.map(code_order, [pack_order(order) for order in orders], pure=False)
            answers = list(client.gather(sent))
        except Exception as error:
            failure = type(error).__name__
    if failure:
        # Raised out here so that the library's exception, which may quote a value, is not attached as context.
        raise _not_coded(address, failure)
    found = [unpack_answer(answer) for answer in answers]
    refusals = {one.why for one in found if isinstance(one, Refusal)}
    if refusals == {"values"}:
        return None
    if refusals:
        raise _refused(address, sorted(refusals - {"values"})[0])
    return [one for one in found if isinstance(one, Part)]


def code_order(content: bytes) -> bytes:
    """Code one piece, on a worker. Any failure is reported in one word: an exception may quote a value."""
    try:
        return pack_answer(_coded(unpack_order(content)))
    except DataError:
        return pack_answer(Refusal("values"))
    except Exception as error:
        return pack_answer(Refusal(type(error).__name__))


def _coded(order: Order) -> Part | Refusal:
    path = Path(order.path)
    if order.program != program():
        return Refusal("program")
    if not path.is_file() or piece_sha256(path, order.start, order.end) != order.sha256:
        return Refusal("bytes")
    frame = read_piece(path, order.groups, order.names, order.missing)
    return code_part(frame, order.hierarchies, order.by_record, path.name)


@contextmanager
def _client(address: str) -> Iterator[Any]:
    client = connect(address)
    try:
        yield client
    finally:
        client.close()


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
    except ImportError:
        raise BadInput(
            "counting on several machines needs Dask, which is not installed",
            where=f"--dask {address}",
            expected="the extra “dask” of releasegate",
            got="neither dask nor distributed",
            fix="install it with: pip install 'releasegate[dask]'; or leave --dask out, for the same result",
        ) from None
    try:
        make: Any = distributed.Client
        client = make(address, timeout=_TO_CONNECT, set_as_default=False)
        if client.scheduler_info(n_workers=-1)["workers"]:
            return client
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


def _refused(address: str, why: str) -> StageFailed:
    reasons = {
        "bytes": ("the file that the release is named by, under the same path on every worker", "another, or none"),
        "program": ("the same version of releasegate and its libraries on every worker", "another"),
    }
    expected, got = reasons.get(why, ("every piece of the file coded", why))
    return StageFailed(
        "a worker could not take its part of the file",
        where=f"--dask {address}",
        expected=expected,
        got=got,
        fix="put the workers right, or leave --dask out, for the same result",
    )


def not_whole(address: str) -> StageFailed:
    """The error for answers that do not have all the records that were asked for."""
    return StageFailed(
        "a worker gave back other records than it was to code",
        where=f"--dask {address}",
        expected="every record of its piece of the file, once",
        got="more or fewer",
        fix="put the workers right, or leave --dask out, for the same result",
    )


def _not_coded(address: str, failure: str) -> StageFailed:
    return StageFailed(
        "the Dask cluster did not finish its work",
        where=f"--dask {address}",
        expected="every piece of the file coded",
        got=failure,
        fix="look at the workers' memory and at the network, and run the release again",
    )
