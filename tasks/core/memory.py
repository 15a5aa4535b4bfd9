"""Memory that libraries keep after use."""

import ctypes
import sys


def return_memory() -> None:
    """Give free memory that Arrow and the C library keep back to the system: gigabytes, after a large file."""
    import pyarrow as pa  # noqa: PLC0415  commands begin sooner without it

    pa.default_memory_pool().release_unused()
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)
