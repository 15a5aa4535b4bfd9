"""Risk against utility of a masking, as its one parameter varies: what a little more or less of it would do."""

from collections.abc import Iterator

import numpy as np

from tasks.assessments.linkage.informed import InformedView
from tasks.assessments.linkage.problem.figure import Floats
from tasks.assessments.linkage.problem.files import distance_linkage
from tasks.assessments.linkage.within import MaskedPart
from tasks.assessments.utility.facts import CurvePointFact, MaskingCurve
from tasks.assessments.utility.features import sample
from tasks.assessments.utility.numeric_change import numeric_change
from tasks.candidate.candidate import Candidate
from tasks.core.errors import ParameterError
from tasks.masking.registry import METHODS
from tasks.request.model import PARAMETER_OF, Masking

_RECORDS = 1000


def masking_curves(candidate: Candidate, generator: np.random.Generator) -> Iterator[MaskingCurve]:
    """The curve of each masking whose attributes all vary in a sample of the released records that have them."""
    drawn = candidate.rows[sample(len(candidate.rows), _RECORDS, generator)]
    for masking in candidate.request.masking:
        values = candidate.masked.original[drawn][:, candidate.masked.columns(masking.attributes)]
        values = values[~np.isnan(values).any(axis=1)]
        if len(values) and (values.min(axis=0) < values.max(axis=0)).all():
            yield masking_curve(masking, values, generator)


def masking_curve(masking: Masking, values: Floats, generator: np.random.Generator) -> MaskingCurve:
    """Mask some records with other strengths and attack each result by the masked numbers alone.

    Parameters
    ----------
    masking : Masking
    values : array of shape (n_records, n_attributes)
        Original values of the masked attributes, of a sample of the records; every attribute varies.
    generator : Generator
        Draws the maskings; they are not those of the release.

    Notes
    -----
    The share linked by distance, and by the intersection attack of one who knows the method, with every record of the
    sample attacked; it is larger than in the whole file, where more records are alike. Strengths that the method cannot
    be applied with to so many records are left out. Utility is IL1s, the mean over the attributes.
    """
    parameter, points = PARAMETER_OF[masking.method], []
    for strength in sorted({*METHODS[masking.method].strengths.tried, masking.strength}):
        tried = masking.model_copy(update={parameter: strength})
        try:
            point = _point(tried, values, generator)
        except ParameterError:
            continue
        if point is not None:
            points.append(point.model_copy(update={"chosen": strength == masking.strength}))
    return MaskingCurve(
        attributes=masking.attributes,
        method=masking.method.value,
        parameter=parameter,
        people=len(values),
        points=tuple(points),
    )


def _point(masking: Masking, values: Floats, generator: np.random.Generator) -> CurvePointFact | None:
    """The point of a masking; None where it leaves no attribute that varies."""
    n_records, n_attributes = values.shape
    masked = METHODS[masking.method].of(masking).mask(values, generator).values
    varying = np.flatnonzero(masked.min(axis=0) < masked.max(axis=0))
    if not len(varying):
        return None
    part = MaskedPart(masking, values[:, varying], masked[:, varying], len(varying) == n_attributes)
    everybody = np.arange(n_records)
    view = InformedView(everybody, np.empty((n_records, 0), dtype=np.int64), (part,))
    informed = view.candidate_linkage(everybody)
    uninformed = distance_linkage(part.files).share_correct
    moved = [one.displacement or 0.0 for one in map(numeric_change, masking.attributes, values.T, masked.T)]
    return CurvePointFact(
        strength=masking.strength,
        uninformed=uninformed,
        informed=max(informed.share_correct, uninformed),
        displacement=sum(moved) / len(moved),
    )
