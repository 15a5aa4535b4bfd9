"""The groups that a recipient's amounts lead to, as the release will compute them; told while a request is drafted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tasks.generalization.game.problem import safe_people
from tasks.generalization.setting import own_follower
from tasks.request.model import Measure, ReleaseRequest

_AT_MOST_ONE_OVER = (Measure.PROSECUTOR_MAXIMUM, Measure.TRANSPARENT_MAXIMUM, Measure.JOURNALIST_MAXIMUM)
_LARGEST_SHARE = 0.1
"""Share of a file's records past which groups are large for it."""


@dataclass(frozen=True)
class Crowd:
    """The people among whom a record hides."""

    people: int
    terms: Mapping[str, Any]
    """Terms of the request's population but its source."""
    presence: str
    """Whether others can know who is in the file, as of ``policy.presence``."""


def group_sizes_in_words(agreement: Mapping[str, Any], stakes: Mapping[str, Any], crowd: Crowd) -> str:
    """Sentences on the fewest people of a group: at the amounts alone, with the penalty, and in a small file."""
    deterring = {name: agreement[name] for name in ("penalty", "detection_rate") if name in agreement}
    pays, least = _sizes({}, stakes, crowd)
    if pays is None:
        words = "At these amounts repeated attempts pay for groups of any size."
    else:
        attempt = f"repeated attempts pay for groups of fewer than {pays:,} people" if pays > 1 else "no attempt pays"
        demanded = ", as the gates demand" if least > pays else ""
        words = f"At these amounts {attempt}; each record will be put into a group of at least {least:,}{demanded}."
    if len(deterring) == 2:
        deterred, fewest = _sizes(deterring, stakes, crowd)
        enough = deterred is not None and (pays is None or fewest < least)
        words += f" With the penalty, {fewest:,} are enough" if enough else " The penalty does not change that"
        words += ", which the gates demand." if enough and fewest > (deterred or fewest) else "."
        pays, least = deterred, fewest
    if "self" in crowd.terms and (pays is None or least > _LARGEST_SHARE * crowd.people):
        other = "" if len(deterring) == 2 else "a penalty with its chance of detection, or "
        words += (
            f" The file is small for that, with {crowd.people:,} people: {other}a statement that it is a sample, of "
            "which nobody knows who is in it, would allow smaller groups."
        )
    return words


def _sizes(deterring: Mapping[str, Any], stakes: Mapping[str, Any], crowd: Crowd) -> tuple[int | None, int]:
    """People from whom on no attempt pays, None for no number; and those of the smallest group that gates allow too."""
    text = "-"
    request = ReleaseRequest.model_validate(
        {
            "schema_version": "releasegate/request/1",
            "title": text,
            "requested_by": "a",
            "dataset": {"path": "data.csv", "title": text, "source": text, "record_id": "id"},
            "attributes": {
                "id": {"role": "direct identifier"},
                "group": {"role": "quasi-identifier", "hierarchy": {"groups": {"levels": [{"*": [text]}]}}},
            },
            "population": {"source": text, **crowd.terms},
            "policy": {"id": "default", "version": "1", "presence": crowd.presence},
            "recipients": [
                {
                    "id": "a",
                    "organisation": text,
                    "purpose": text,
                    "agreement": {"id": text, "expires": "9999-12-31", **deterring},
                    "stakes": dict(stakes),
                }
            ],
        }
    )
    follower = own_follower(request, request.recipients[0], crowd.people)
    demanded = request.policy.fewest_passing(*_AT_MOST_ONE_OVER)
    if not np.isfinite(follower.safe_group):
        return None, demanded
    return safe_people(follower), max(safe_people(follower), demanded)
