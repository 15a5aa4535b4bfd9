"""Error boundary of a stage: every failure inside becomes one of the gate's own errors, without data values.

A library's exception may quote a cell, so its message is dropped and only its type and place in our code are kept.
"""

import errno
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.core.errors import ReleasegateError, StageCrashed, WorkspaceError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_REFUSED = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.EXDEV}
)


@contextmanager
def guarded(stage: str) -> Iterator[None]:
    """Turn every exception of a stage into a ``ReleasegateError``.

    ``WorkspaceError`` if the disk is full or the system refuses a file; ``StageCrashed`` for all that the gate does not
    know, and nothing is decided or released.
    """
    try:
        yield
    except ReleasegateError:
        raise
    except MemoryError:
        raise StageCrashed(
            "a stage ran out of memory",
            where=stage,
            expected="enough memory for the data's distinct tuples and the count cube",
            fix="lower policy.generalization.memory_limit_mb, or run on a larger machine",
        ) from None
    except OSError as error:
        if error.errno in _FULL:
            raise disk_full(stage) from None
        raise (_refused if error.errno in _REFUSED else _internal)(stage, error) from None
    except Exception as error:
        raise _internal(stage, error) from None


def disk_full(where: str) -> WorkspaceError:
    """The error for a workspace without room."""
    return WorkspaceError(
        "the disk is full",
        where=where,
        expected="room for the run's files in the workspace",
        got="no space left",
        fix="free space and run the same command again; it goes on where it stopped",
    )


def place_of(error: BaseException) -> str:
    """Function and line that raised an error: all of its traceback that cannot quote a value."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].name}, line {frames[-1].lineno}" if frames else "unknown place"


def _refused(stage: str, error: OSError) -> WorkspaceError:
    name = Path(error.filename).name if isinstance(error.filename, str) else "a file"
    return WorkspaceError(
        "a file cannot be read or written",
        where=f"{stage} ({name})",
        expected="files and folders that you may read and write",
        got=error.strerror or type(error).__name__,
        fix="correct the permissions, or what stands in the file's place, and run the same command again",
    )


def _internal(stage: str, error: Exception) -> StageCrashed:
    return StageCrashed(
        "a stage failed for a reason that the gate does not know",
        where=f"{stage} ({place_of(error)})",
        expected="the stage to finish",
        got=type(error).__name__,
        fix="nothing was decided or released; run it again, and report this message if it comes back",
    )
