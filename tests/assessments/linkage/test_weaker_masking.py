"""Masking is never worse than none: who deletes or weakens it turns no blocked release into an approved one."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.linkage.facts import gate_figures
from tasks.core.wilson import wilson
from tasks.request.model import Measure
from tests.support.examples import examples
from tests.support.numeric import Maskings, drawn, numeric_request
from tests.support.stages import made
from tests.support.tiny import changed

LIMIT = 0.09
NAMES = ("income", "dose", "visits")
STRENGTHS: dict[str, tuple[str, tuple[float, ...]]] = {
    "rank-swapping": ("p", (2, 10, 30, 80)),
    "rank-swapping-p-buckets": ("buckets", (30, 10, 2)),
    "rank-swapping-p-distribution": ("p", (2, 10, 30, 80)),
    "individual-ranking": ("k", (2, 5, 30)),
    "mdav": ("k", (2, 5, 30)),
    "additive-noise": ("noise", (0.01, 0.5, 50)),
    "correlated-noise": ("noise", (0.01, 0.5, 50)),
}


def figures(
    maskings: Maskings, records: int, kinds: int, seed: int, chances: tuple[float | None, ...] = (None, None, None)
) -> dict[Measure, float]:
    """Gate figures of a file of three numbers that may be known, each of so many values; masked with one seed."""
    frame = drawn(records, seed)
    generator = np.random.default_rng(seed)
    for name in NAMES:
        frame[name] = generator.integers(0, kinds, records).astype(str)
        frame.loc[:1, name] = ["0", "1"]
    pairs = zip(NAMES, chances, strict=True)
    may = [changed("attributes", name, "known_probability", to=chance) for name, chance in pairs]
    plain = changed("policy", "linkage", to={"learned": False})
    with tempfile.TemporaryDirectory() as folder:
        one = made(numeric_request(Path(folder), *may, plain, maskings=maskings, frame=frame))
        return gate_figures(one.attacked(quick=True))


@st.composite
def weakened(draw: st.DrawFn) -> tuple[Maskings, Maskings]:
    """Maskings of some numbers, and the same without one of them, or one of its attributes, or at less strength."""
    order = draw(st.permutations(NAMES))
    cut = draw(st.integers(1, 3))
    groups = [one for one in (order[:cut], order[cut:]) if one]
    strong: list[dict[str, Any]] = []
    for group in groups[: draw(st.integers(1, len(groups)))]:
        method = draw(st.sampled_from(sorted(STRENGTHS)))
        term, values = STRENGTHS[method]
        strong.append({"attributes": list(group), "method": method, term: draw(st.sampled_from(values[1:]))})
    weak = [dict(one) for one in strong]
    place = draw(st.integers(0, len(weak) - 1))
    term, values = STRENGTHS[weak[place]["method"]]
    way = draw(st.sampled_from(["all", "one", "attribute", "strength"]))
    if way == "all":
        weak = []
    elif way == "attribute" and len(weak[place]["attributes"]) > 1:
        weak[place]["attributes"] = weak[place]["attributes"][1:]
    elif way == "strength":
        weak[place][term] = draw(st.sampled_from(values[: values.index(weak[place][term])]))
    else:
        weak.pop(place)
    return tuple(strong), tuple(weak)


@pytest.mark.slow
@given(
    pair=weakened(),
    records=st.sampled_from([60, 200]),
    kinds=st.sampled_from([2, 3, 8, 1000]),
    seed=st.integers(0, 9),
)
@settings(max_examples=examples(15, 8))
def test_what_is_blocked_stays_blocked_with_less_masking(
    pair: tuple[Maskings, Maskings], records: int, kinds: int, seed: int
) -> None:
    """Beyond the luck of the draw, whatever is judged; numbers alone give most away where none is masked."""
    strong, weak = (figures(maskings, records, kinds, seed) for maskings in pair)
    for measure, figure in strong.items():
        if wilson(figure * records, records)[0] > LIMIT:
            assert weak[measure] > LIMIT, measure
    if not pair[1]:
        assert weak[Measure.LINKED_MASKED] >= strong[Measure.LINKED_MASKED]


@pytest.mark.slow
@given(
    method=st.sampled_from(["", *sorted(STRENGTHS)]),
    chances=st.lists(st.tuples(*[st.sampled_from([0, 0.02, 0.5, 0.99, 1])] * 2).map(sorted), min_size=3, max_size=3),
    records=st.sampled_from([60, 200]),
    kinds=st.sampled_from([3, 8, 1000]),
    seed=st.integers(0, 9),
)
@settings(max_examples=examples(10, 6))
def test_a_number_that_is_likelier_known_opens_no_gate(
    method: str, chances: list[list[float]], records: int, kinds: int, seed: int
) -> None:
    """Whatever may be known is judged as known, so that only what nobody can know is left out."""
    term, values = STRENGTHS.get(method, ("", (0,)))
    maskings: Maskings = ({"attributes": list(NAMES), "method": method, term: values[0]},) if method else ()
    seldom, likely = (tuple(one[place] for one in chances) for place in (0, 1))
    less, more = (figures(maskings, records, kinds, seed, one) for one in (seldom, likely))
    assert less.keys() == more.keys()
    for measure, figure in less.items():
        assert more[measure] > LIMIT or wilson(figure * records, records)[0] <= LIMIT, measure
    if all((one > 0) == (other > 0) for one, other in zip(seldom, likely, strict=True)):
        assert less == more
