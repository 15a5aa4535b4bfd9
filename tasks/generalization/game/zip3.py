"""The Safe Harbor table of three-digit ZIP codes.

45 CFR 164.514(b)(2)(i)(B) lets the first three digits stay only where all ZIP codes that share them hold more than
20,000 people. The table unites the 2010 Census populations of ZIP code tabulation areas with the list that HHS printed
from Census 2000 in its de-identification guidance; a prefix in neither source is treated as restricted.
"""

import gzip
import hashlib
import io
import zlib
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources

import numpy as np
import pandas as pd

from tasks.core.errors import StageFailed

CENSUS = "US Census Bureau, 2010 Census ZCTA populations, in union with the HHS list from Census 2000"
RESTRICTED_LABEL = "000"
PEOPLE_NEEDED = 20_000
_PREFIX = 3
_WHOLE_CODE = 5

HHS_LIST_2000 = frozenset(
    f"{prefix:03}" for prefix in (36, 59, 63, 102, 203, 556, 692, 790, 821, 823, 830, 831, 878, 879, 884, 890, 893)
)


@dataclass(frozen=True)
class ZipTable:
    """Three-digit prefixes that may be shown."""

    census: str
    sha256: str
    """Hash of the census file that the table was computed from."""
    people: dict[str, int]
    """People by three-digit prefix."""

    @cached_property
    def restricted(self) -> frozenset[str]:
        """Prefixes known to hold 20,000 people or fewer, by either source."""
        return HHS_LIST_2000 | {prefix for prefix, people in self.people.items() if people <= PEOPLE_NEEDED}

    def shown(self, zip_code: str) -> str:
        """The first three digits; 000 where restricted, unknown, or cut short: leading zeros may be lost."""
        prefix = zip_code[:_PREFIX]
        if len(zip_code) < _WHOLE_CODE or prefix not in self.people or prefix in self.restricted:
            return RESTRICTED_LABEL
        return prefix


@cache
def zip_table() -> ZipTable:
    """The table computed from the census file that ships with the program; StageFailed if that is damaged."""
    file = resources.files("tasks.generalization.game") / "data" / "zcta-2010.csv.gz"
    try:
        raw = gzip.decompress(file.read_bytes())
        table = pd.read_csv(io.BytesIO(raw), dtype={"zcta": str, "population": np.int64}, keep_default_na=False)
        if table.empty or (table["population"] < 0).any():
            raise ValueError("no rows, or a negative population")
        people = table["population"].groupby(table["zcta"].str[:_PREFIX]).sum()
    except (OSError, EOFError, ValueError, KeyError, zlib.error):
        raise StageFailed(
            "the census table of ZIP codes is damaged",
            where="zcta-2010.csv.gz",
            expected="the file that ships with the program",
            fix="install the program again",
        ) from None
    by_prefix = {str(prefix): int(number) for prefix, number in people.items()}
    return ZipTable(census=CENSUS, sha256=hashlib.sha256(raw).hexdigest(), people=by_prefix)
