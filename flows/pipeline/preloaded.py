"""Modules and data that every stage needs, loaded once in the process that workers are forked from."""

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from flows.workspace.temporary import hold_temporary_folder
from tasks.core.errors import StageFailed
from tasks.core.postponed import postpone, postpone_numpy_tools

_MODULES = (
    "flows.pipeline.work",
    "great_expectations",
    "tasks.validation.run",
    "tasks.delivery.write",
    "reports.determination",
    "reports.certificate",
)

gc.disable()
postpone("altair")  # Great Expectations draws with it
postpone_numpy_tools()
postpone("scipy.stats", ("chi2", "gmean", "rankdata", "spearmanr"))  # scikit-learn names four
sys.modules["sqlalchemy"] = None  # type: ignore[assignment]  # Great Expectations can do without it, and most stages do
for _name in _MODULES:
    import_module(_name)
del sys.modules["sqlalchemy"]
_folder = os.environ.get("TMPDIR")
with suppress(StageFailed, OSError):  # the command says so, or the report's own stage, unless it has ended meanwhile
    if _folder is None or hold_temporary_folder(Path(_folder)):  # else the workspace is not there yet
        import_module("reports.pdf").prepare_renderer()
gc.freeze()  # workers share these objects' memory as long as nobody counts them again
gc.enable()
