"""What classes disclose by the definition, record by record and group by group, with exact binomials."""

import math
from typing import Any

import pandas as pd

Value = Any


def binomial_tail(size: int, share: float, least: int) -> float:
    """Probability of at least so many successes."""
    return math.fsum(
        math.comb(size, count) * share**count * (1 - share) ** (size - count) for count in range(least, size + 1)
    )


def width_of(values: list[float]) -> float:
    """A tenth of what lies between the 5 % and the 95 % quantile, each the least value that its share is within."""
    held = sorted(values)
    low, high = (held[math.ceil(share * len(held) - 1e-9) - 1] for share in (0.05, 0.95))
    return 0.1 * (high - low)


def near(value: Value, other: Value, width: float | None) -> bool:
    """Whether another value lies in the interval that begins at a value."""
    if pd.isna(other):
        return False
    return bool(value == other) if width is None else bool(value <= other <= value + width + 1e-12 * abs(value))


def disclosed(
    frame: pd.DataFrame,
    columns: list[str],
    numeric: frozenset[str] = frozenset(),
    light: frozenset[Value] = frozenset(),
    *,
    own_group: bool = False,
) -> dict[str, pd.DataFrame]:
    """For each column and record: whether its class discloses its value, is of one value, and the largest rise.

    ``frame`` has the class of each record in ``class``; values in ``light`` are not judged. Records without a value
    count where these are a group of their own, ``own_group``; else what a class discloses is told of them too.
    """
    groups = frame.groupby("class")
    tests = groups.ngroups * sum(frame[name].dropna().nunique() for name in columns)
    tests *= 3  # a value by either reading of missing ones, and values together
    found = {}
    for name in columns:
        width = width_of(frame[name].dropna().tolist()) if name in numeric and frame[name].notna().any() else None
        rows = pd.DataFrame({"disclosed": False, "homogeneous": False, "rise": 0.0}, index=frame.index)
        whole = {own_group} if own_group else {False, True}  # whether records without a value count
        for _, members in groups:
            for count in whole:
                everybody = len(frame) if count else int(frame[name].notna().sum())
                counted = len(members) if count else int(members[name].notna().sum())
                for value in members[name].dropna().unique():
                    if value in light:
                        continue
                    share = sum(near(value, other, width) for other in frame[name]) / everybody
                    like = [near(value, other, width) for other in members[name]]
                    rise = sum(like) / counted - share
                    rows.loc[members.index, "rise"] = rows.loc[members.index, "rise"].clip(lower=rise)
                    told = [
                        one or (not own_group and pd.isna(other))
                        for one, other in zip(like, members[name], strict=True)
                    ]
                    if sum(like) == counted and share <= 0.8 + 1e-12:
                        rows.loc[members.index, "homogeneous"] = True
                    halved = 1 - sum(like) / counted <= (1 - share) / 2 + 1e-12
                    if halved and rise >= 0.2 - 1e-12 and tests * binomial_tail(counted, share, sum(like)) <= 0.01:
                        rows.loc[members.index[told], "disclosed"] = True
            for chosen in together(
                frame, members, name, tests=tests, is_number=name in numeric, light=light, own_group=own_group
            ):
                told = members[name].isin(chosen) | (members[name].isna() & (not own_group))
                rows.loc[members.index[told], "disclosed"] = True
        found[name] = rows
    return found


def together(
    frame: pd.DataFrame,
    members: pd.DataFrame,
    name: str,
    *,
    tests: int,
    is_number: bool,
    light: frozenset[Value],
    own_group: bool,
) -> list[set[Value]]:
    """Sets of values, or of those of an interval, that 9/10 of a class have and at most 1/10 of the other records."""
    whole = frame if own_group else frame[frame[name].notna()]
    size = len(members) if own_group else int(members[name].notna().sum())
    every, own = whole[name].value_counts(), members[name].value_counts()
    needed, kinds = math.ceil(0.9 * size - 1e-12), len(every)
    candidates: list[set[Value]] = []
    if is_number:
        held = sorted(frame[name].dropna())
        if held:
            low, high = (held[math.ceil(share * len(held) - 1e-9) - 1] for share in (0.01, 0.99))
            for start in sorted(own.index):
                for end in sorted(one for one in own.index if one >= start):
                    inside = {one for one in own.index if start <= one <= end}
                    if sum(own[one] for one in inside) >= needed:
                        if end - start <= 0.1 * (high - low) + 1e-12 * abs(start):
                            candidates.append({one for one in every.index if start <= one <= end})
                        break
    else:
        frequent = sorted(own.index, key=lambda one: (-own[one], list(every.index).index(one)))
        candidates = [set(frequent[:number]) for number in range(1, 6) if number <= len(frequent)]
    enough = []
    for chosen in candidates:
        have, share = sum(own.get(one, 0) for one in chosen), sum(every[one] for one in chosen) / len(whole)
        others = sum(every[one] for one in chosen) - have
        ways = kinds * (kinds + 1) / 2 if is_number else 5 * math.comb(kinds, len(chosen))
        if (
            have >= needed
            and others <= 0.1 * (len(whole) - size) + 1e-12
            and have / size - share >= 0.2
            and not chosen & light & set(own.index)
            and tests * ways * binomial_tail(size, share, have) <= 0.01
        ):
            enough.append(chosen)
    return enough if is_number else enough[:1]


def expected_homogeneous(classes: list[int], values: list[str]) -> float:
    """Records in classes of one value that at most 4/5 have, if every record drew its value from all of them."""
    shares = [values.count(value) / len(values) for value in set(values)]
    sizes = [classes.count(one) for one in set(classes)]
    return sum(size * share**size for size in sizes for share in shares if share <= 0.8 + 1e-12)
