"""Made-up school records of the size and make of those in Orooji & Knapp 2019, section 3: a record a student."""

import numpy as np
from numpy.typing import NDArray

RECORDS = 1_009_993
EPSILON = 0.01
ALPHA = 100.0
# Values, probability of being publicly known, sensitivity weight. The paper gives those of age, gender, dropout and
# corrections contact; the others are chosen so that 111 known sets remain, the empty one among them, as in the paper.
ATTRIBUTES = {
    "age": (20, 0.05, 0),
    "gender": (2, 0.8, 0),
    "ethnicity": (7, 0.7, 0),
    "school": (1500, 0.25, 0),
    "parish": (70, 0.5, 0),
    "grade": (14, 0.2, 0),
    "lunch": (3, 0.1, 0),
    "language": (2, 0.1, 0),
    "special education": (2, 0.02, 0),
    "homeless": (2, 0.02, 0),
    "zip code": (530, 0.1, 0),
    "dropout": (2, 0.005, 1),
    "corrections contact": (2, 0.001, 1),
    "juvenile justice contact": (2, 0.001, 1),
    "suspensions": (6, 0.005, 1),
    "expelled": (2, 0.005, 1),
    "gifted": (2, 0.005, 0),
    "absences": (12, 0.001, 1),
    "grade average": (9, 0.001, 1),
    "reading": (5, 0.001, 1),
    "mathematics": (5, 0.001, 1),
    "science": (5, 0.001, 1),
    "social studies": (5, 0.001, 1),
    "retained": (2, 0.005, 1),
    "entry year": (12, 0.005, 0),
    "exit reason": (30, 0.001, 1),
    "quarter of birth": (4, 0.005, 0),
}
SIZES = tuple(size for size, _, _ in ATTRIBUTES.values())
PROBABILITIES = tuple(chance for _, chance, _ in ATTRIBUTES.values())


def weights() -> list[NDArray[np.float64]]:
    """Weights as in the paper, 0 or 1: half of the values of a sensitive attribute are sensitive."""
    return [weight * (np.arange(size) % 2).astype(np.float64) for size, _, weight in ATTRIBUTES.values()]


def weights_of_all(seed: int = 1) -> list[NDArray[np.float64]]:
    """Weights where every attribute is sensitive, also those that may be known."""
    draw = np.random.default_rng(seed)
    return [draw.random(size) for size in SIZES]


def records(number: int = RECORDS, seed: int = 0) -> NDArray[np.int16]:
    """Codes of the records, column by column: schools and ZIP codes lie in parishes, age follows grade."""
    draw = np.random.default_rng(seed)
    codes = np.empty((number, len(ATTRIBUTES)), dtype=np.int16, order="F")
    columns = dict(zip(ATTRIBUTES, codes.T, strict=True))
    for name, size in zip(ATTRIBUTES, SIZES, strict=True):
        shares = 1.0 / np.arange(1, size + 1) ** (2.0 if size == 2 else 0.8)
        columns[name][:] = draw.choice(size, number, p=shares / shares.sum())
    columns["gender"][:] = draw.integers(0, 2, number)
    columns["grade"][:] = draw.integers(0, 14, number)
    for name in ("school", "zip code"):
        own = ATTRIBUTES[name][0] / ATTRIBUTES["parish"][0]
        columns[name][:] = ((columns["parish"] + draw.random(number) ** 1.5) * own).astype(np.int16)
    years = draw.choice(6, number, p=[0.05, 0.45, 0.35, 0.1, 0.04, 0.01])
    columns["age"][:] = columns["grade"] + years
    return codes
