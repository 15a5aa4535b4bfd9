"""The public interface of releasegate: the methods, one assessment of a frame, and the gate itself.

The names on this page are the only thing promised to stay: they follow semantic versioning, ``flows``, ``tasks`` and
``reports`` do not. Modules are imported when they are first used.

>>> import releasegate
>>> releasegate.game.Payoffs(benefit=1200, loss=300, gain=300, cost=4).safe_group
75.0
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flows.gate.outcome import Outcome
    from releasegate import combined, fmdp, game, kanonymity, linkage, masking, microdata
    from releasegate._assess import Assessed, assess
    from releasegate._check import Checked, check
    from releasegate._release import release
    from releasegate._request import request
    from tasks.candidate.assessment import Finding
    from tasks.core.errors import ReleasegateError
    from tasks.request.model import ReleaseRequest as Request

__all__ = [
    "Assessed",
    "Checked",
    "Finding",
    "Outcome",
    "ReleasegateError",
    "Request",
    "assess",
    "check",
    "combined",
    "fmdp",
    "game",
    "kanonymity",
    "linkage",
    "masking",
    "microdata",
    "release",
    "request",
]

_HOMES = {
    "Assessed": ("releasegate._assess", "Assessed"),
    "Checked": ("releasegate._check", "Checked"),
    "Finding": ("tasks.candidate.assessment", "Finding"),
    "Outcome": ("flows.gate.outcome", "Outcome"),
    "ReleasegateError": ("tasks.core.errors", "ReleasegateError"),
    "Request": ("tasks.request.model", "ReleaseRequest"),
    "assess": ("releasegate._assess", "assess"),
    "check": ("releasegate._check", "check"),
    "release": ("releasegate._release", "release"),
    "request": ("releasegate._request", "request"),
}
"""Module and name of what is not a module of this package."""


def _check_own_packages() -> None:
    """Raise ImportError where Python finds packages of others first under the names of those that this one rests on."""
    home = Path(__file__).resolve().parent.parent
    for name in ("flows", "tasks", "reports"):
        spec = find_spec(name)
        if spec is None:  # its import says so
            continue
        found = Path(spec.origin or next(iter(spec.submodule_search_locations or ()), ""))
        if found.resolve().parent != home / name:
            raise ImportError(
                f"releasegate cannot be used here: Python finds another package {name} before its own\n"
                f"  where: {found}\n"
                f"  expected: {home / name}\n"
                "  to do: run Python in another folder, or as python -P, which leaves out the present folder; where "
                "one program needs both, rename the other package. The command releasegate works in any folder.",
                name=name,
            )


_check_own_packages()


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, wanted = _HOMES.get(name, (f"{__name__}.{name}", None))
    found = import_module(module)
    value = found if wanted is None else getattr(found, wanted)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
