"""The twenty sections of a determination and their parts, in an order and with numbers that never change.

A section whose stage did not run is there and says so, so that “section 12” is the risk in every determination.
"""

from dataclasses import dataclass

from tasks.decision.record import DecisionRecord


@dataclass(frozen=True)
class Section:
    """A numbered section or part: its key names anchor and template."""

    number: str
    key: str
    title: str
    template: str
    parts: tuple["Section", ...] = ()


_TITLES: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    ("decision", "Decision", ()),
    ("statement", "Determination statement and legal basis", ()),
    ("limitations", "Limitations and assumptions", (("scope", "Scope: what was and was not assessed"),)),
    ("context", "Context of the release", ()),
    ("data", "Data", ()),
    ("fields", "Field inventory", ()),
    ("safeharbor", "Safe Harbor checklist", ()),
    ("validation", "Validation", ()),
    ("threats", "Threat model", ()),
    ("threshold", "Thresholds and their precedents", ()),
    ("method", "Method", ()),
    (
        "risk",
        "Risk before and after",
        (
            ("sequential", "A recipient who plans"),
            ("combined", "Identity and attributes in one score"),
            ("criteria", "Singling out, linkability, inference"),
        ),
    ),
    (
        "tests",
        "Adversarial tests beside their baselines",
        (("transparency", "Transparency"), ("linkage", "Record linkage")),
    ),
    ("decoys", "Decoys", ()),
    ("utility", "Utility before and after", ()),
    ("conditions", "Conditions, re-certification, monitoring", ()),
    ("gates", "Gates", ()),
    ("reproduction", "Reproducibility", ()),
    ("history", "Approval history", ()),
    ("reference", "Qualification, definitions, references", ()),
)
_MEASURED = frozenset({"method", "risk", "tests", "utility"})


def numbers_of() -> dict[str, str]:
    """Number of every section and part by its key, whether or not a record has the part."""
    found = {}
    for number, (key, _, parts) in enumerate(_TITLES, start=1):
        found[key] = str(number)
        found |= {name: f"{number}.{place}" for place, (name, _) in enumerate(parts, start=1)}
    return found


def sections(record: DecisionRecord) -> tuple[Section, ...]:
    """All twenty sections; their parts as far as something was measured."""
    number, templates = numbers_of(), _templates(record)

    def section(key: str, title: str, parts: tuple[Section, ...] = ()) -> Section:
        return Section(number[key], key, title, templates.get(key, key), parts)

    return tuple(
        section(key, title, () if record.risk is None and key in _MEASURED else tuple(section(*part) for part in parts))
        for key, title, parts in _TITLES
    )


def _templates(record: DecisionRecord) -> dict[str, str]:
    """Templates of what the record has no figures of, by key."""
    risk, instead = record.risk, {}
    if risk is None:
        instead = dict.fromkeys(_MEASURED, "absent") | {"risk": "unmeasured"}
    else:
        found = {"sequential": risk.sequential, "combined": risk.combined, "linkage": risk.linkage}
        instead = {key: "unfinished" for key, fact in found.items() if fact is None}
    if record.decoys is None:
        instead["decoys"] = "undecoyed"
    return instead
