"""Access to the external data paid once for many records, as an adversary who has the whole file would.

Each record is attacked as in ``tasks.adversary.fmdp`` once the external data are available: its own link, exploits,
detection and penalties.
Access costs C_d once and all links begin one step later, so it pays where γ·ΣW > C_d: W at the group
sizes where these are known, its expectation where there is only a belief (expectations add up whether or not the
sizes depend on each other).

The paper's adversary pays C_d for each record, which understates the risk of a file: whatever is worth access by itself
is so together with others, and not the reverse.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tasks.adversary.adversary import AdversaryProfile, Floats
from tasks.adversary.decisions import access_pays
from tasks.core.errors import ParameterError


@dataclass(frozen=True)
class SharedAccess:
    """Worth of access for all records together."""

    total: float
    """ΣW over the records: their value once access is paid; from 0."""
    value: float
    """−C_d + γΣW."""
    accessed: bool
    """Whether access pays; a tie does not."""


def shared_access(profile: AdversaryProfile, values: ArrayLike, records: ArrayLike = 1) -> SharedAccess:
    """Whether access pays for all records together.

    Parameters
    ----------
    profile : AdversaryProfile
    values : array-like of shape (n_groups,)
        W of one record of each group: ``linked_values`` or ``expected_linked_values``; from 0.
    records : array-like of shape (n_groups,) or int
        Records of each group; from 0.

    Raises
    ------
    ParameterError
        If a value or a number is negative or not finite.
    """
    worth = _checked("values", values)
    total = (worth * _checked("records", records)).sum()
    return SharedAccess(
        total=float(total),
        value=float(profile.discount * total - profile.access_cost),
        accessed=bool(access_pays(profile, total)),
    )


def _checked(name: str, figures: ArrayLike) -> Floats:
    numbers = np.asarray(figures, dtype=np.float64)
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise _refused(name, "finite numbers from 0", "a negative or not finite number")
    return numbers


def _refused(where: str, expected: str, got: str) -> ParameterError:
    return ParameterError(
        "shared access cannot be decided", where=where, expected=expected, got=got, fix="correct the numbers"
    )
