"""What ``releasegate trace`` says, from results made by hand, and which Safe Harbor groups it reads with."""

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from flows.cli.trace import NOTHING, chance, notes, rendered, sentences
from flows.incidents.incident_file import IncidentTable
from flows.incidents.tracing import Traced, safe_harbor_groups
from reports.terminal import show
from tasks.core.errors import BadInput
from tasks.decoys.tracing import Hits, Incident, Kind, Trace
from tasks.microdata.hierarchy import hierarchy_from_rows
from tests.support.decoy_tables import table
from tests.support.records import approved

DOCUMENT = Path(__file__).parents[2] / "docs" / "tracing.md"
ROWS = table([[0, 0]], [900], [1])


def hits(recipient: str, decoys: tuple[int, int, int], kept: tuple[int, int, int], chance: float) -> Hits:
    return Hits(recipient, *decoys, *kept, chance)


def traced(*found: Hits, named: tuple[str, ...] = (), suspected: tuple[str, ...] = (), **other: object) -> Traced:
    kind: Kind = "people" if other.pop("people", False) else "rows"
    trace = Trace(
        verdict="decoys" if named else "kept classes" if suspected else "nothing",
        named=named,
        suspected=suspected,
        level=0.01,
        hits=found,
        total=900,
        ordinary=800,
        ambiguous=3,
        outside=7,
        by_population=other.get("without_population") is None,
    )
    incident = Incident(kind, ROWS.cells, ROWS.records, {"age": 4, "sex": 0})
    parts = {
        "table": IncidentTable("0" * 64, pd.DataFrame()),
        "absent": (),
        "undelivered": (),
        "earlier": (),
        "unmarked": (),
        "without_population": None,
    } | other
    return Traced(release_id="a" * 64, trace=trace, incident=incident, **parts)  # type: ignore[arg-type]


def shown(answer: Traced) -> str:
    console = Console(width=80, highlight=False, markup=False)
    with console.capture() as capture:
        show(rendered(answer), console)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def test_decoys_name_a_recipient() -> None:
    answer = traced(hits("lab", (4, 3, 3), (0, 0, 6), 1 / 3_000_001), named=("lab",))
    assert sentences(answer) == [
        "Points to lab: 3 of its 3 decoy classes were hit by 4 rows; a file from elsewhere would hit as often with a "
        "chance of 1 in 3,000,000."
    ]


def test_kept_classes_alone_are_weaker() -> None:
    answer = traced(hits("lab", (0, 0, 3), (1, 1, 6), 0.004), suspected=("lab",), people=True)
    assert sentences(answer) == [
        "Points to lab, but weakly: no decoys were hit, and 1 of the 6 real classes that it alone keeps by 1 person; "
        "a file from elsewhere would hit as often with a chance of 1 in 250."
    ]


def test_one_decoy_class_alone_is_weaker() -> None:
    answer = traced(hits("lab", (40, 1, 3), (0, 0, 6), 0.004), suspected=("lab",), people=True)
    assert sentences(answer) == [
        "Points to lab, but weakly: 1 of its 3 decoy classes was hit by 40 people, as a list of the people of one "
        "place may do; a file from elsewhere would hit as often with a chance of 1 in 250."
    ]
    answer = traced(hits("lab", (1, 1, 3), (2, 2, 6), 0.004), suspected=("lab",))
    assert "1 row, as a list of the people of one place may do, and 2 of the 6 real classes" in sentences(answer)[0]


def test_hits_that_may_be_chance_are_shown_and_name_nobody() -> None:
    answer = traced(hits("lab", (1, 1, 3), (0, 0, 6), 0.31))
    assert sentences(answer) == [NOTHING]
    assert "31 %" in shown(answer)


def test_two_recipients_who_leaked_are_both_named() -> None:
    both = (hits("lab", (4, 3, 3), (9, 5, 6), 1e-20), hits("clinic", (1, 1, 3), (0, 0, 6), 0.002))
    answer = traced(*both, named=("lab", "clinic"))
    first, second = sentences(answer)
    assert first.startswith("Points to lab: ")
    assert "by 4 rows, and 5 of the 6 real classes that it alone keeps by 9 rows; " in first
    assert second.startswith("Points to clinic: 1 of its 3 decoy classes was hit by 1 row; ")


def test_what_was_looked_at() -> None:
    lines = shown(traced(hits("lab", (4, 3, 3), (0, 0, 6), 1e-7), named=("lab",))).splitlines()
    numbers = {line.rsplit(maxsplit=1)[0].strip(): line.split()[-1] for line in lines if line and line[-1].isdigit()}
    assert numbers["in decoys or kept classes of one recipient"] == "90"
    assert numbers["ordinary: in real classes of several copies"] == "800"
    assert numbers["ambiguous: of several recipients"] == "3"
    assert numbers["outside: in no class of any copy"] == "7"
    assert numbers["in all"] == "900"
    assert ["age", "4", "of", "900"] in [line.split() for line in lines]
    assert not any(line.startswith("sex") for line in lines)


def test_the_document_shows_what_is_printed() -> None:
    university = Hits("state-university", 4, 4, 5, 7, 6, 10, 2.547e-15)
    counts = {"total": 16_000, "ordinary": 15_989, "ambiguous": 0, "outside": 0}
    answer = traced(university, named=("state-university",), unmarked=("foundation",))
    answer = replace(
        answer,
        trace=replace(answer.trace, **counts),
        incident=replace(answer.incident, unread={}),
    )
    (printed,) = re.findall(r"^```text\n(.*?)\n```", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert printed.endswith("\n…")
    assert shown(answer).startswith(printed.removesuffix("…"))


def test_what_limits_an_answer() -> None:
    told = traced(
        hits("lab", (4, 3, 3), (0, 0, 6), 1e-7),
        hits("clinic", (4, 3, 3), (0, 0, 6), 1e-6),
        named=("lab", "clinic"),
        table=IncidentTable("0" * 64, pd.DataFrame(), unknown=2, repeated=1),
        absent=("zip",),
        undelivered=("lab", "other"),
        earlier=("clinic",),
        unmarked=("university",),
        without_population="the population changed since the decision",
    )
    assert list(notes(told)) == [
        "decoys were compared with other recipients' alone: the population changed since the decision; with the "
        "population as it was, fewer hits would name a recipient",
        "no column of zip: taken as unknown, so the result is less certain",
        "2 ids are missing or not in the register, and left out",
        "1 row repeats an id; each person counts once",
        "without decoys, so nothing can point to them: university",
        "lab was never given its copy of this release: look at who else could read it",
        "clinic has copies of another version of this release",
    ]


@pytest.mark.parametrize(
    ("probability", "words"),
    [
        (1.0, "100 %"),
        (0.101, "11 %"),
        (0.0999, "1 in 10"),
        (0.02, "1 in 50"),
        (1 / 12_399, "1 in 12,000"),
        (3.1e-8, "1 in 32,000,000"),
        (9.9e-20, "1 in 10^19"),
        (0.0, "below 1 in 10^300"),
    ],
)
def test_chance_is_written_no_smaller_than_it_is(probability: float, words: str) -> None:
    assert chance(probability) == words


class TestSafeHarborGroups:
    """ZIP codes of two restricted areas share 000, a group that no level of the hierarchy has."""

    def hierarchies(self) -> dict[str, object]:
        rows = [[code, f"{code[:3]}**", "*"] for code in ("37201", "03601", "05901")]
        return {"zip": hierarchy_from_rows("zip", rows, "zip.csv")}

    def records(self, sha256: str | None) -> list[object]:
        record = approved()
        fields = tuple(one.model_copy(update={"safe_harbor": "zip"}) for one in record.fields if one.name == "zip")
        assert len(fields) == 1
        assert record.risk is not None
        assert record.risk.zip_table is not None
        used = record.risk.zip_table.model_copy(update={"sha256": sha256}) if sha256 else None
        risk = record.risk.model_copy(update={"zip_table": used})
        return [record.model_copy(update={"fields": fields, "risk": risk})]

    def test_are_those_of_the_table_that_the_release_was_made_with(self) -> None:
        from tasks.generalization.game.zip3 import zip_table

        groups = safe_harbor_groups(self.records(zip_table().sha256), self.hierarchies())  # type: ignore[arg-type]
        assert groups["zip"].extra_labels == ("000",)

    @pytest.mark.parametrize("sha256", ["f" * 64, None])
    def test_of_another_table_are_refused(self, sha256: str | None) -> None:
        with pytest.raises(BadInput, match="not the one that the release was made with"):
            safe_harbor_groups(self.records(sha256), self.hierarchies())  # type: ignore[arg-type]
