"""All assessments, in the order in which they are made and reported."""

from typing import Any

from tasks.assessments.attribute.assessment import AttributeAssessment
from tasks.assessments.columns.assessment import ColumnsAssessment
from tasks.assessments.combined.assessment import CombinedAssessment
from tasks.assessments.dates.assessment import DatesAssessment
from tasks.assessments.events.assessment import EventsAssessment
from tasks.assessments.identity.assessment import IdentityAssessment
from tasks.assessments.linkage.assessment import LinkageAssessment
from tasks.assessments.sequential.assessment import SequentialAssessment
from tasks.assessments.singling_out.assessment import SinglingOutAssessment
from tasks.assessments.text.assessment import TextAssessment
from tasks.assessments.utility.assessment import UtilityAssessment
from tasks.candidate.assessment import Assessment

IDENTITY, SEQUENTIAL, COMBINED = IdentityAssessment(), SequentialAssessment(), CombinedAssessment()
LINKAGE, SINGLING_OUT, ATTRIBUTE = LinkageAssessment(), SinglingOutAssessment(), AttributeAssessment()
COLUMNS, UTILITY = ColumnsAssessment(), UtilityAssessment()
EVENTS, DATES, TEXT = EventsAssessment(), DatesAssessment(), TextAssessment()

ASSESSMENTS: tuple[Assessment[Any], ...] = (
    IDENTITY,
    SEQUENTIAL,
    COMBINED,
    LINKAGE,
    SINGLING_OUT,
    ATTRIBUTE,
    COLUMNS,
    UTILITY,
    EVENTS,
    DATES,
    TEXT,
)
