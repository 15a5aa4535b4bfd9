"""In a folder of PYTHONPATH, makes the reports of every Python process brief: see ``tests.support.brief_reports``.

The renderer takes a second to import, so it is changed when somebody imports it and not before.
"""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class _Made(Loader):
    """Makes the module as its own loader does, then brief."""

    def __init__(self, own: Loader) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._own.exec_module(module)
        sys.modules["reports"].determination = module  # type: ignore[attr-defined]  # as it is when its import has ended
        from tests.support.brief_reports import brief_reports  # imports the module itself

        self.brief = brief_reports()
        self.brief.__enter__()


class _Brief(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "reports.determination":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Made(spec.loader)
        return spec


sys.meta_path.insert(0, _Brief())
