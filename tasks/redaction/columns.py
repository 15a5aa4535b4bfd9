"""The columns of text of a file, redacted, with the measured recall of the scanner."""

from collections.abc import Mapping
from types import MappingProxyType

import pandas as pd

from tasks.candidate.candidate import Redaction
from tasks.redaction.redact import RedactedColumn, redact
from tasks.redaction.scanner_recall import measured_scanner
from tasks.request.model import ReleaseRequest


def redacted(
    frame: pd.DataFrame, request: ReleaseRequest, made: Mapping[str, RedactedColumn] = MappingProxyType({})
) -> Redaction:
    """Redact the columns of text of a file, with the scanner measured under the same policy; errors as ``redact``.

    `made` are columns that were redacted already, as workers do it.
    """
    rest = [name for name in request.texts if name not in made]
    columns = {**made, **(redact(frame, request, rest) if rest else {})}
    fact = measured_scanner(request.policy.small_cell).model_copy(
        update={"columns": tuple(columns[name].fact for name in request.texts)}
    )
    return Redaction({name: columns[name].text for name in request.texts}, fact)
