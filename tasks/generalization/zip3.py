"""The Safe Harbor table of three-digit ZIP codes.

45 CFR 164.514(b)(2)(i)(B) lets the first three digits stay only where all ZIP codes that share them hold more than
20,000 people by the current public census data. The table is computed from the 2010 Census populations of ZIP code
tabulation areas that ship with the program, in union with the list that HHS printed from Census 2000 in its
de-identification guidance; a prefix in neither source is unknown and treated as restricted.
"""

import csv
import gzip
import hashlib
import io
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import resources

from tasks.errors import StageFailed

CENSUS = "US Census Bureau, 2010 Census ZCTA populations, in union with the HHS list from Census 2000"
RESTRICTED_LABEL = "000"
PEOPLE_NEEDED = 20_000

HHS_LIST_2000 = frozenset(
    f"{prefix:03}" for prefix in (36, 59, 63, 102, 203, 556, 692, 790, 821, 823, 830, 831, 878, 879, 884, 890, 893)
)


@dataclass(frozen=True)
class ZipTable:
    """Which three-digit prefixes may be shown."""

    census: str
    sha256: str
    """Hash of the census file that the table was computed from."""
    people: dict[str, int]
    """People by three-digit prefix."""

    @property
    def restricted(self) -> frozenset[str]:
        """Prefixes known to hold 20,000 people or fewer, by either source."""
        return HHS_LIST_2000 | {prefix for prefix, people in self.people.items() if people <= PEOPLE_NEEDED}

    def shown(self, zip_code: str) -> str:
        """The part of a ZIP code that may be shown: its first three digits, or 000 where restricted or unknown."""
        prefix = zip_code[:3]
        if prefix not in self.people or prefix in self.restricted:
            return RESTRICTED_LABEL
        return prefix


@cache
def zip_table() -> ZipTable:
    """The table computed from the census file that ships with the program.

    Raises
    ------
    StageFailed
        If the file is damaged.
    """
    packed = (resources.files("tasks.generalization") / "data" / "zcta-2010.csv.gz").read_bytes()
    people: Counter[str] = Counter()
    try:
        raw = gzip.decompress(packed)
        for row in csv.DictReader(io.StringIO(raw.decode("ascii"))):
            people[row["zcta"][:3]] += int(row["population"])
    except (OSError, EOFError, ValueError, KeyError):
        raise StageFailed(
            "the census table of ZIP codes is damaged",
            where="zcta-2010.csv.gz",
            expected="the file that ships with the program",
            fix="install the program again",
        ) from None
    return ZipTable(census=CENSUS, sha256=hashlib.sha256(raw).hexdigest(), people=dict(people))
