"""Work on parts of a file: done here, one after the other, or by the workers of a Dask cluster, with the same results.

Workers see the file under the same path; each makes sure that it reads the same bytes with the same program. What is
sent to them are paths, hashes, names of columns and hierarchies: no record, no key, and nothing of decoys. A Dask
scheduler runs what it is sent: whoever can reach it can run programs on its workers and read what they read. Nothing
that Dask says in words is passed on; it may quote a value.
"""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import closing
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from tasks.core.errors import BadInput, Outage, ReleasegateError, StageCrashed, StageFailed
from tasks.core.files import file_sha256

_TO_CONNECT = "15s"
_SOURCES = Path(__file__).resolve().parents[1]
_LIBRARIES = ("numpy", "pandas", "pyarrow", "scipy", "great-expectations", "phonenumberslite", "python-stdnum")
Made = TypeVar("Made")


def done(works: Sequence[Callable[[], Made]], path: Path, dask: str | None) -> list[Made]:
    """Results of works on a file, in their order.

    `dask` is the address of a running scheduler, such as ``tcp://10.0.0.5:8786``; None for this machine. An error of
    the gate that a work raises is raised here. Works are pickled: they hold no value of a record.

    Raises
    ------
    BadInput
        If Dask is not installed, or (Outage) no scheduler or worker answers there, at first or in the end.
    StageCrashed
        If a worker sees other bytes, has another program, or fails: that decides nothing, and is no matter of the data.
    """
    if dask is None:
        return [work() for work in works]
    sha256, failure, answers = file_sha256(path), "", list[Any]()
    orders = [WorkOrder(work, path, sha256, program()) for work in works]
    with closing(connect(dask)) as client:
        try:
            answers = list(client.gather(client.map(follow, orders, pure=False)))
        except Exception as error:
            failure = type(error).__name__
    # Raised out here so that the library's exception, which may quote a value, is not attached as context.
    if failure or len(answers) != len(orders):
        check_cluster(dask)
        raise _failed(dask, "the Dask cluster did not finish its work", _EVERY_PART, failure or "fewer results")
    for answer in answers:
        if isinstance(answer, ReleasegateError):
            raise answer from None
        if isinstance(answer, Refusal):
            what, got = _REASONS.get(answer.reason, (_EVERY_PART, answer.reason))
            raise _failed(dask, "a worker could not take its part of the file", what, got)
    return answers


def shares(names: Sequence[str], dask: str) -> list[tuple[str, ...]]:
    """Columns dealt out to the workers of a cluster, some to each; errors as of ``connect``."""
    with closing(connect(dask)) as client:
        workers = len(client.scheduler_info(n_workers=-1)["workers"])
    return [tuple(names[start::workers]) for start in range(min(workers, len(names)))]


@dataclass(frozen=True)
class WorkOrder:
    """Work for a worker, with the bytes and the program that are meant."""

    work: Callable[[], Any] = field(repr=False)
    path: Path
    sha256: str
    """Of the file's bytes, as they are here."""
    program: str
    """Digest of the program that is to do it."""


@dataclass(frozen=True)
class Refusal:
    """Reason that a worker did not do its work, in one word."""

    reason: str


_EVERY_PART = "every part of the file read and judged"
_REASONS = {
    "bytes": ("the file that the release is named by, under the same path on every worker", "another, or none"),
    "program": ("the same version of releasegate and its libraries on every worker", "another"),
}


def follow(order: WorkOrder) -> Any:
    """Do the work of an order, on a worker: its result, an error of the gate, or a refusal.

    Any other failure is reported in one word: an exception may quote a value.
    """
    path = order.path
    try:
        if order.program != program():
            return Refusal("program")
        if not path.is_file() or _sha256_as_of(path, path.stat().st_size, path.stat().st_mtime_ns) != order.sha256:
            return Refusal("bytes")
        return order.work()
    except ReleasegateError as error:
        return copy(error)  # without the frames and values that it was raised among
    except Exception as error:
        return Refusal(type(error).__name__)


@cache
def program() -> str:
    """Digest of what works on records: the sources of all tasks, with their lists, and the libraries they rest on."""
    hasher = hashlib.sha256()
    for path in sorted(_SOURCES.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            hasher.update(str(path.relative_to(_SOURCES)).encode() + b"\0" + path.read_bytes())
    hasher.update(" ".join(map(version, _LIBRARIES)).encode())
    return hasher.hexdigest()


@cache
def _sha256_as_of(path: Path, _size: int, _changed: int) -> str:
    """SHA-256 of a file, computed once by a worker as long as the file does not change."""
    return file_sha256(path)


def other_records(path: Path) -> StageFailed:
    """The error for a part of a file that has other records than it should, as where the file changes meanwhile."""
    return StageCrashed(
        "a part of the file was read with too many or too few records",
        where=path.name,
        expected="every record of the part, once",
        got="more or fewer",
        fix="make sure that nothing writes to the file, look at the workers, and run the release again",
    )


def _failed(address: str, what: str, expected: str, got: str) -> StageFailed:
    return StageCrashed(
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
        If Dask is not installed, or (Outage) no scheduler or worker answers there.
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
            "work on several machines needs Dask, which is not installed",
            where=f"--dask {address}",
            expected="the extra “dask” of releasegate",
            got="neither dask nor distributed",
            fix="install it with: pip install 'releasegate[dask]'; or leave --dask out, for the same result",
        ) from None
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        failure = type(error).__name__
    if client is not None:
        client.close()
    raise Outage(
        "the Dask cluster does not answer",
        server="the Dask cluster",
        where=f"--dask {address}",
        expected="a running scheduler with at least one worker, as tcp://host:port or tls://host:port",
        got=failure,
        fix="start it, or correct the address; without --dask this machine does all, with the same result",
    )


def check_cluster(address: str) -> None:
    """Make sure that a cluster answers, before anything else is begun; raises as ``connect``."""
    connect(address).close()
