"""Modules whose import is postponed until something of them is used."""

import sys
import threading
from collections.abc import Collection
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_replacing = threading.Lock()


class _PostponedModule(ModuleType):
    """Stands for a module in ``sys.modules``; the first use of anything in it imports it in this one's place."""

    def __init__(self, name: str, members: Collection[str]) -> None:
        super().__init__(name)
        self._members = members
        spec = find_spec(name)
        self.__path__ = list(spec.submodule_search_locations or ()) if spec else []  # its modules can be imported alone

    def __getattr__(self, name: str) -> Any:
        if name in self._members:
            return _PostponedMember(self.__name__, name)
        if name.startswith("__"):  # asked by the import system and by inspection, not by a user
            raise AttributeError(name)
        return getattr(_imported(self.__name__), name)


class _PostponedMember:
    """Stands for a function or object of a postponed module, which is imported when it is called or looked into."""

    def __init__(self, module: str, name: str) -> None:
        self._where = module, name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        module, name = self._where
        return getattr(_imported(module), name)(*arguments, **named)

    def __getattr__(self, attribute: str) -> Any:
        module, name = self._where
        return getattr(getattr(_imported(module), name), attribute)


def _imported(name: str) -> ModuleType:
    with _replacing:  # else a second thread could take out the real one
        if isinstance(sys.modules.get(name), _PostponedModule):
            del sys.modules[name]
    return import_module(name)


def postpone(name: str, members: Collection[str] = ()) -> None:
    """Postpone the import of a module, which libraries import for what is seldom used.

    `members` are those that libraries import by their names. The standard library's own lazy module is no help here: to
    import it a second time is to use it.
    """
    if name in sys.modules:
        return
    sys.modules[name] = module = _PostponedModule(name, members)
    package, _, own = name.rpartition(".")
    if package:  # as the import system does; some packages look for it there
        setattr(sys.modules[package], own, module)


def postpone_numpy_tools() -> None:
    """Postpone the parts of NumPy that take longest to import: SciPy goes through all of them as it is imported."""
    for part in ("f2py", "testing"):
        postpone(f"numpy.{part}")
