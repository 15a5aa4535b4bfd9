"""Files that come with the program beside its modules: templates, schemas, examples and the lock of its packages.

In a checkout they lie at its top, in an installed package within it, where a wheel puts them (``pyproject.toml``).
"""

from pathlib import Path

_TOP = Path(__file__).resolve().parents[2]
_PACKAGED = _TOP / "releasegate" / "shipped"
IS_PACKAGED = _PACKAGED.is_dir()
"""Whether the program runs from an installed wheel, and not from a checkout."""


def shipped(name: str) -> Path:
    """Path of a file or folder that comes with the program, such as ``templates``."""
    return (_PACKAGED if IS_PACKAGED else _TOP) / name
