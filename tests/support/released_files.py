"""Released files written to a path or into memory."""

from pathlib import Path

import pyarrow as pa

from tasks.delivery.released_file import write_released
from tasks.request.model import DeliveryFormat


def write_to(released: pa.Table, path: Path, form: DeliveryFormat) -> None:
    """Write a released file into a new file."""
    with path.open("xb") as stream:
        write_released(released, stream, form)


def bytes_of(released: pa.Table, form: DeliveryFormat) -> pa.Buffer:
    """A released file in memory."""
    stream = pa.BufferOutputStream()
    write_released(released, stream, form)
    return stream.getvalue()
