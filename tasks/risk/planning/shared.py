"""Access to the external data paid once for many records, as an adversary who has the whole file would.

Each record is attacked as in ``tasks.risk.fmdp`` once the external data are at hand: its own link, exploits, detection
and penalties. Access costs C_d once and all links begin one step later, so it pays where γ·ΣW > C_d: W at the group
sizes where these are known, its expectation where there is only a belief (expectations add up whether or not the
sizes depend on each other).

The paper's adversary pays C_d for each record, which understates the risk of a file: whatever is worth access by itself
is so together with others, and not the reverse.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from tasks.errors import ParameterError
from tasks.risk.adversary import AdversaryProfile, Floats
from tasks.risk.decisions import access_pays
from tasks.risk.fmdp import expected_linked_values, known_threshold, linked_values, sink_probability


@dataclass(frozen=True)
class SharedAccess:
    """What access for all records is worth together."""

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


def shared_probability(profile: AdversaryProfile, group_sizes: ArrayLike, records: ArrayLike = 1) -> Floats:
    """P_reid of each record where the adversary knows all group sizes and pays once for all.

    Parameters
    ----------
    profile : AdversaryProfile
    group_sizes : array-like of int, of shape (n_groups,)
        Candidates of each record in the external data; from 1.
    records : array-like of shape (n_groups,) or int
        Records with that group size; from 0.

    Returns
    -------
    array of shape (n_groups,)
        Never below ``reidentification_probability`` where a group has a record.
    """
    access = shared_access(profile, linked_values(profile, group_sizes), records)
    return _where_accessed(profile, group_sizes, access)


def shared_probability_unknown(
    profile: AdversaryProfile,
    group_sizes: ArrayLike,
    densities: ArrayLike,
    external_size: int,
    *,
    records: ArrayLike = 1,
) -> Floats:
    """P_reid of each record where the adversary learns the group sizes after paying once for all.

    Parameters
    ----------
    profile : AdversaryProfile
    group_sizes : array-like of int, of shape (n_groups,)
        Candidates of each record in the external data; from 1.
    densities : array-like of float, of shape (n_groups,)
        Share of the population that has the record's quasi-identifiers: the belief is Binomial(n, density).
    external_size : int
        n, people in the external data.
    records : array-like of shape (n_groups,) or int
        Records of each group; from 0.
    """
    access = shared_access(profile, expected_linked_values(profile, densities, external_size), records)
    return _where_accessed(profile, group_sizes, access)


def shared_threshold(profile: AdversaryProfile, similar: int) -> int | None:
    """Smallest group size at which, and past which, that many records of this size are not worth access; None if none.

    γMW > C_d is γW > C_d/M, and W does not depend on C_d: it is the known group's threshold with the cost divided.

    Raises
    ------
    ParameterError
        If ``similar`` is not a whole number from 1.
    """
    if isinstance(similar, bool) or not isinstance(similar, int | np.integer) or similar < 1:
        raise _refused("similar", "a whole number from 1", str(similar))
    return known_threshold(replace(profile, access_cost=profile.access_cost / int(similar)))


def _where_accessed(profile: AdversaryProfile, group_sizes: ArrayLike, access: SharedAccess) -> Floats:
    probability = sink_probability(profile, group_sizes)
    return probability if access.accessed else np.zeros_like(probability)


def _checked(name: str, figures: ArrayLike) -> Floats:
    numbers = np.asarray(figures, dtype=np.float64)
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise _refused(name, "finite numbers from 0", "a negative or not finite number")
    return numbers


def _refused(where: str, expected: str, got: str) -> ParameterError:
    return ParameterError(
        "shared access cannot be decided", where=where, expected=expected, got=got, fix="correct the numbers"
    )
