"""The tiny request with numbers beside its quasi-identifiers: more records, drawn with a fixed seed, and maskings."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tasks.request.load import LoadedRequest
from tests.support.tiny import DATA, Change, larger, tiny_request

NUMBERS: dict[str, dict[str, Any]] = {
    "income": {"role": "sensitive", "type": "integer", "known_probability": 0},
    "dose": {"role": "insensitive", "type": "number", "known_probability": 0},
    "visits": {"role": "insensitive", "type": "integer", "minimum": 0, "maximum": 12, "known_probability": 0},
    "ward": {"role": "insensitive"},
}
STRENGTH = {"p": 10.0, "buckets": 5, "k": 3, "noise": 0.25}
Maskings = tuple[dict[str, Any], ...]


def masking(method: str, *attributes: str, **terms: Any) -> dict[str, Any]:
    """One masking of a request."""
    return {"attributes": list(attributes), "method": method} | terms


def drawn(n_records: int, seed: int = 5) -> pd.DataFrame:
    """Records as text: quasi-identifiers of the tiny request, a skewed, a continuous and a much tied number."""
    generator = np.random.default_rng(seed)
    known = [line.split(",") for line in DATA.splitlines()[1:]]
    rows = generator.integers(0, len(known), n_records)
    income = np.rint(generator.lognormal(10, 0.7, n_records)).astype(int)
    dose = np.round(np.log(income) + generator.normal(0, 0.5, n_records), 3)
    columns = {
        "id": [f"r{row}" for row in range(n_records)],
        "zip": [known[row][1] for row in rows],
        "age": [known[row][2] for row in rows],
        "sex": [known[row][3] for row in rows],
        "diagnosis": generator.choice(["flu", "cold", "cough"], n_records).tolist(),
        "income": [str(value) for value in income],
        "dose": [repr(float(value)) for value in dose],
        "visits": [str(value) for value in np.minimum(generator.poisson(3, n_records), 12)],
        "ward": generator.choice(["A", "B", "C"], n_records).tolist(),
    }
    return pd.DataFrame(columns, dtype="str")


def numeric_request(
    folder: Path, *changes: Change, maskings: Maskings = (), frame: pd.DataFrame | None = None
) -> LoadedRequest:
    """The tiny request with these maskings, its data written; nobody knows the numbers that are not masked."""

    def with_numbers(document: dict[str, Any]) -> None:
        document["attributes"] |= {name: dict(terms) for name, terms in NUMBERS.items()}
        for name in {name for one in maskings for name in one["attributes"]} & NUMBERS.keys():
            document["attributes"][name]["known_probability"] = None
        document["masking"] = list(maskings)

    data = drawn(60) if frame is None else frame
    text = data.to_csv(index=False, lineterminator="\n")
    return tiny_request(folder, with_numbers, *changes, data=text, population=larger(-(-len(data) // 6)))
