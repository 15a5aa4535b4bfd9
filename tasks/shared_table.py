"""One table a run: stages of one process share the coded data and the count cube instead of building them again."""

from tasks.artifact import Artifact, checked
from tasks.decision.record import digest
from tasks.generalization.play import Table
from tasks.generalization.setting import game_table
from tasks.microdata.coded import Prepared
from tasks.microdata.prepared import load
from tasks.request.model import ReleaseRequest

_last: dict[tuple[str, str], tuple[Prepared, Table]] = {}


def shared_table(request: ReleaseRequest, prepared: Artifact) -> tuple[Prepared, Table]:
    """Coded data and table of a request; only the last ones are kept.

    Raises
    ------
    StageFailed
        If the prepared file is missing or was changed.
    """
    path = checked(prepared)
    key = digest(request), prepared["sha256"]
    if key not in _last:
        _last.clear()
        coded = load(path)
        _last[key] = coded, game_table(request, coded)
    return _last[key]
