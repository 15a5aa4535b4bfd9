"""The golden cases: which requests and commands make each, in order."""

from collections.abc import Mapping


def _usual(name: str, *methods: str) -> tuple[str, ...]:
    return (
        f"check {name}.yaml",
        *(f"assess {method} {name}.yaml" for method in methods),
        f"release {name}.yaml",
        f"explain {{{name}}} --details",
    )


def _votes(name: str, *recipients: str) -> tuple[str, ...]:
    return tuple(
        f"review {{{name}}} --recipient {recipient} --as '{who}' --vote approve --reason 'counted again'"
        for recipient in recipients
        for who in ("M. Okafor", "J. Brandt")
    )


_ALL = ("game", "fmdp", "combined", "linkage", "utility")
_AUDIT = ("audit --from 2026-03-01 --to {today} --output audits",)

CASES: Mapping[str, tuple[str, ...]] = {
    "plain": (*_usual("plain", *_ALL), "later 100", "reassess {plain} --report reassessed", *_AUDIT),
    "gated": _usual("gated", "game"),
    "invalid": _usual("invalid"),
    "refused": ("check refused.yaml",),
    "masked": ("check masked.yaml", "assess linkage masked.yaml", "assess utility masked.yaml", "release masked.yaml"),
    "budgeted": ("check budgeted.yaml", "assess game budgeted.yaml", "release budgeted.yaml"),
    "uncertain": _usual("uncertain", "fmdp"),
    "kanonymous": _usual("kanonymous", "game"),
    "planned": _usual("planned", "game", "fmdp"),
    "types": _usual("types"),
    "colluding": (
        "check colluding.yaml",
        "release colluding.yaml",
        "later 30",
        "reassess {colluding} --report reassessed",
    ),
    "crossing": _usual("crossing", "game"),
    "decoys": (
        "check decoys.yaml",
        "assess decoys decoys.yaml",
        "release decoys.yaml",
        *_votes("decoys", "clinic", "registry", "university"),
        "release decoys.yaml",
        "trace {decoys} {decoys.bundle}/delivery/clinic/data.csv",
        "later 5",
        "release decoys-next.yaml",
        *_votes("decoys-next", "clinic", "registry"),
        "review {decoys-next} --recipient newcomer --as 'M. Okafor' --vote reject --reason 'no purpose of its own'",
        "review {decoys-next} --recipient newcomer --as 'J. Brandt' --vote approve --reason 'counted again'",
        "review {decoys-next}",
        "revoke {decoys-next} --recipient registry --as 'P. Officer' --reason 'the agreement was broken'",
        "release decoys-next.yaml",
        "later 100",
        "reassess {decoys-next} --report reassessed",
        *_AUDIT,
    ),
    "overridden": (
        *_usual("overridden"),
        "override {overridden} --recipient university --gate released.information_kept --as 'P. Officer' "
        "--reason 'what is left is enough for the purpose'",
        "release overridden.yaml",
        *_AUDIT,
    ),
}
"""Commands of each case; ``{name}`` is the id of a request's release, ``later`` lets days go by."""
