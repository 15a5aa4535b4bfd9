"""The pages for requesting over a workspace of their own, and the clinic's file to upload."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from flows.library.policies import PolicyShelf
from flows.studio.columns import FileColumn
from flows.studio.project import Project
from flows.web.local import local_app
from tasks.draft.draft import encoded
from tasks.draft.roles import profile
from tests.support.pages import Visitor
from tests.support.world import ROOT

CLINIC = ROOT / "examples" / "clinic" / "data" / "visits.csv"
ANSWERS = {
    "title": "Clinic visits",
    "requested_by": "jo.lindqvist",
    "dataset.title": "Visits of one clinic",
    "dataset.source": "own register",
    "population.source": "all patients of the clinic",
    "recipients.0.id": "registry",
    "recipients.0.organisation": "Regional Disease Registry",
    "recipients.0.purpose": "Seasonal patterns",
    "recipients.0.agreement.id": "DUA-7",
    "recipients.0.agreement.expires": "2038-12-31",
    "recipients.0.agreement.penalty": "2000",
    "recipients.0.agreement.detection_rate": "0.01",
    "recipients.0.stakes.benefit": "500",
    "recipients.0.stakes.loss": "200",
    "recipients.0.stakes.cost": "10",
    "recipients.0.method": "no-attack-partition",
}
"""All that a draft of the clinic's file asks for."""


def answered() -> dict[tuple[str | int, ...], object]:
    """The same as changes of the document."""
    numbers = ("stakes.", "penalty", "detection_rate")
    return {
        tuple(int(step) if step.isdecimal() else step for step in field.split(".")): float(value)
        if any(one in field for one in numbers)
        else value
        for field, value in ANSWERS.items()
    }


def small_file() -> str:
    """Visits of 144 people, 12 of each age and sex, 48 of each town, 36 of each diagnosis."""
    rows = (
        f"V{number:04},{20 + number % 6 * 10},{'FM'[number // 6 % 2]},{('north', 'south', 'west')[number // 12 % 3]},"
        f"{('asthma', 'migraine', 'fracture', 'influenza')[number % 4]}"
        for number in range(144)
    )
    return "\n".join(["visit_id,age,sex,town,diagnosis", *rows]) + "\n"


def file_column(name: str, values: list[str]) -> FileColumn:
    """A column of a file."""
    column = encoded(pd.Series(values, dtype="string[pyarrow]"), ())
    return FileColumn(profile(name, column), column)


def project_at(path: Path) -> Project:
    """A request on disk as a project."""
    return Project("given", path, path.parent / ".runs", PolicyShelf(path.parent / "workspace"))


@dataclass
class StudioVisitor:
    """The person at the machine, in whose browser the studio is open."""

    visitor: Visitor
    csrf: str

    @classmethod
    def at(cls, workspace: Path, given: Path | None = None) -> "StudioVisitor":
        """Open the studio of a workspace."""
        app, token = local_app(workspace, given)
        visitor = Visitor(app)
        assert visitor.get(f"/open/{token}").status_code == 200
        found = re.search(r'name="csrf" value="([^"]+)"', visitor.get("/requests").text)
        assert found is not None
        return cls(visitor, found[1])

    def get(self, place: str) -> Any:
        return self.visitor.get(place)

    def post(self, place: str, data: dict[str, str] | None = None, **options: Any) -> Any:
        """Send a form of the session and follow to the page that it leads to."""
        answer = self.visitor.post(place, {"csrf": self.csrf, **(data or {})}, **options)
        return self.visitor.get(answer.headers["location"]) if answer.status_code == 303 else answer

    def hand_in(self, content: bytes, name: str = "visits.csv") -> str:
        """Upload a file; the address of its request."""
        answer = self.visitor.post("/requests", {"csrf": self.csrf}, files={"data": (name, content)})
        assert answer.status_code == 303, words(answer)
        return str(answer.headers["location"]).removesuffix("/columns")


def words(answer: Any) -> str:
    """What a page says, without its marks."""
    body = answer.text.split("<main", 1)[-1]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))
