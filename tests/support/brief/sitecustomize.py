"""In a folder of PYTHONPATH, makes the reports of every Python process brief: see ``tests.support.brief_reports``.

The renderer takes a second to import, so it is changed when somebody imports it and not before. Where a variable names
a process that workers are forked from (``tests.support.shared_workers``), it is used in place of one of the own. A
service asks its Prefect server for runs more often, which tests would wait for idly. Python's collector looks more
rarely, which saves each process of Prefect a quarter of its imports. Where a variable says so, a service sees sooner
that a server is away, and that it is back.
"""

import gc
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any


def _be_brief(module: ModuleType) -> None:
    sys.modules["reports"].determination = module  # type: ignore[attr-defined]  # as it is when its import has ended
    from tests.support.brief_reports import brief_reports  # imports the module itself

    reports = brief_reports()
    reports.__enter__()
    _kept.append(reports)


def _share_workers(module: ModuleType) -> None:
    server, address = vars(module)["_forkserver"], os.environ.get("WORKERS_OF_TESTS")
    if address and not hasattr(server, "_forkserver_authkey"):  # later Pythons let nobody else in
        _, alive = os.pipe()
        server._forkserver_address, server._forkserver_alive_fd = address, alive
        server.ensure_running = vars(module)["ensure_running"] = lambda: None


def _ask_often(module: ModuleType) -> None:
    serve = vars(module)["serve"]
    vars(module)["serve"] = lambda *flows, **terms: serve(*flows, **(terms | {"query_seconds": 1.0}))


def _look_often(module: ModuleType) -> None:
    vars(module)["_LONGEST_PAUSE"] = 3.0


def _see_outages_soon(module: ModuleType) -> None:
    if "OUTAGES_OF_TESTS" in os.environ:
        soon = {"_SILENT_SECONDS": 10.0, "_HEALTH_SECONDS": 1.0, "_OUTAGE_SECONDS": 1.0}
        vars(module).update({name: soon[name] for name in soon.keys() & vars(module).keys()})


_kept: list[Any] = []
_THEN: dict[str, Callable[[ModuleType], None]] = {
    "reports.determination": _be_brief,
    "multiprocessing.forkserver": _share_workers,
    "prefect.flows": _ask_often,
    "flows.service.reconciler": _look_often,
    "flows.service.orchestrator": _see_outages_soon,
    "flows.service.threads": _see_outages_soon,
}


class _Made(Loader):
    """Makes a module as its own loader does, and does something then."""

    def __init__(self, own: Loader, then: Callable[[ModuleType], None]) -> None:
        self._own, self._then = own, then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._own.exec_module(module)
        self._then(module)


class _Brief(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        then = _THEN.pop(fullname, None)
        if then is None:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Made(spec.loader, then)
        return spec


gc.set_threshold(50_000, 20, 50)
sys.meta_path.insert(0, _Brief())
