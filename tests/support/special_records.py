"""Made-up findings on singling out, attributes and released columns, for records that reports are tested with."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tasks.assessments.attribute.facts import AttributeFact, ColumnDisclosureFact
from tasks.assessments.columns.facts import ColumnFact, ColumnFinding, ColumnsFact, Sign
from tasks.assessments.events.facts import EventColumnFact, EventsFact, KnownRowsFact
from tasks.assessments.singling_out.facts import ColumnUniquesFact, SingledOutFact, SinglingOutFact, UniquenessFact

RECORDS = 32_561


def singling_out(**changes: Any) -> SinglingOutFact:
    """Ages, ZIP codes and occupations single out most; figures near those of the Adult-TN example."""
    columns = ("age", "zip", "occupation")
    fact = SinglingOutFact(
        columns=3,
        known=("age", "race", "sex", "zip", "workclass", "occupation", "hours-per-week"),
        presumed=("hours-per-week",),
        masked="as collected",
        sampling_fraction=0.005136,
        declared_fraction=False,
        records=RECORDS,
        singled_out=23_812,
        as_released=23_901,
        score_maximum=244.0,
        dis_maximum=0.4127,
        by_size=tuple(
            SingledOutFact(columns=size, singled_out=count) for size, count in enumerate((25, 7_010, 16_777), start=1)
        ),
        by_column=tuple(
            ColumnUniquesFact(column=name, score_share=share, singled_out=count, needed=needed)
            for name, share, count, needed in (
                ("zip", 0.6711, 21_004, 13_704),
                ("age", 0.4122, 20_117, 5_436),
                ("hours-per-week", 0.2514, 12_427, 957),
                ("occupation", 0.1678, 11_291, 1_288),
                ("workclass", 0.0871, 4_338, 191),
                ("sex", 0.0361, 2_465, 21),
                ("race", 0.0355, 896, 4),
            )
        ),
        worst=_uniqueness(columns, 14_334, 6_176, (0.02354, 0.3595, 0.3548)),
        together=_uniqueness(("age", "race", "sex", "zip", "workclass", "occupation", "hours-per-week"), 24_481, 2_080),
    )
    return fact.model_copy(update=changes)


def attribute(**changes: Any) -> AttributeFact:
    """Nothing is disclosed; figures near those of the Adult-TN example."""
    columns = (
        ("occupation", 14, 14, None, 1.0, 9_926, 9_966.0),
        ("capital-gain", 119, 118, 501.3, 1.0, 845, 808.0),
        ("salary-class", 2, 1, None, 1.0, 3_009, 2_923.0),
        ("relationship", 6, 0, None, 0.0, 0, 0.0),
    )
    fact = AttributeFact(
        classes=17_636,
        records=RECORDS,
        known=(),
        columns=tuple(
            ColumnDisclosureFact(
                column=name,
                values=values,
                judged=judged,
                width=width,
                largest_share=share,
                plain_rise=0.0301,
                informed_rise=0.0384,
                homogeneous_classes=homogeneous,
                homogeneous_records=homogeneous,
                homogeneous_by_chance=chance,
                disclosed_classes=0,
                disclosed_records=0,
            )
            for name, values, judged, width, share, homogeneous, chance in columns
        ),
        disclosed_classes=0,
        disclosed_records=0,
    )
    return fact.model_copy(update=changes)


def _uniqueness(
    columns: tuple[str, ...], uniques: int, pairs: int, shares: tuple[float, float, float] = (0.2761, 0.6951, 0.6950)
) -> UniquenessFact:
    pitman, zayatz, snb = shares
    return UniquenessFact(
        columns=columns,
        uniques=uniques,
        pairs=pairs,
        correct_match=0.0199,
        pitman=pitman,
        zayatz=zayatz,
        snb=snb,
        chosen="pitman",
        population_share=pitman,
    )


def columns() -> ColumnsFact:
    """Occupations tell nothing; relationships tell the sex, and somebody answers for it."""
    told = ColumnFinding(sign=Sign.TOLD, columns=("relationship",), others=("sex",), share=0.45)
    plain: dict[str, Any] = {"distinct_share": 0.0, "masked": False, "numeric": False}
    return ColumnsFact(
        columns=(
            ColumnFact(name="occupation", entropy=3.52, findings=(), **plain),
            ColumnFact(name="relationship", entropy=2.15, findings=(told,), excused="Dana: it is needed.", **plain),
        )
    )


def events(figures: Mapping[str, float] = MappingProxyType({})) -> EventsFact:
    """Two rows of a ward that others know find 30 of 100 people; the diagnosis of 12 is disclosed by their class."""
    known = KnownRowsFact(
        attributes=("ward",), known=2, fewest=1, unique_people=30, mean_risk=0.5, unique_by_all=40, long_histories=0
    )
    diagnosis = EventColumnFact(
        column="diagnosis",
        values=5,
        judged=5,
        width=None,
        largest_share=1.0,
        informed_rise=0.9,
        homogeneous_people=12,
        disclosed_people=12,
    )
    return EventsFact(
        person="patient",
        people_in=100,
        rows_in=200,
        people=100,
        rows=200,
        attributes=("ward", "diagnosis"),
        levels={},
        withheld_rows=0,
        known=known,
        columns=(diagnosis,),
        disclosed_people=12,
        figures=dict(figures),
    )
