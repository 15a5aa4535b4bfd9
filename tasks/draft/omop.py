"""Tables of the OMOP Common Data Model, version 5.4: roles, dates and hierarchies of their columns.

Names and meanings of tables, columns and concepts are those of the specification (OHDSI, CDM v5.4); what may leave, and
how, is our judgement, with a reason for each column. Names are read in small or capital letters. Columns that the
specification lacks are unreviewed.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from enum import Enum

from tasks.draft.roles import NO_VALUE, ColumnProfile, Suggestion
from tasks.draft.structure import Columns
from tasks.request.model import GroupLevels, Role, ValueType

PERSON = "person"
TABLES = (PERSON, "visit_occurrence", "condition_occurrence", "drug_exposure", "measurement", "death", "note")
"""Tables that a draft knows."""
OTHER_TABLES = (
    "observation_period visit_detail procedure_occurrence device_exposure observation note_nlp specimen "
    "fact_relationship location care_site provider payer_plan_period cost drug_era dose_era condition_era episode "
    "episode_event metadata cdm_source concept vocabulary domain concept_class concept_relationship relationship "
    "concept_synonym concept_ancestor source_to_concept_map drug_strength cohort cohort_definition"
)
"""Tables of the model that a draft leaves out, in words."""

SHIFT_DAYS = 30
_NO_SCAN: Mapping[str, str] = {"scan": "false"}
PSEUDONYM: Mapping[str, str] = {"pseudonym": "{format: integer}"}
"""Terms of keys, which are whole numbers in the model."""
ENGLISH = frozenset({"4180186", "0"})
"""Concepts of a note's language under which it is drafted as English text: English, and no matching concept."""


class Treatment(Enum):
    """What a draft does with a column, and why."""

    KEY = (Role.PSEUDONYM, "it names the row")
    QUASI = (Role.QUASI, "neighbours, colleagues and registers know it")
    SHIFTED = (Role.INSENSITIVE, "a day of care, moved with the person's other dates")
    DEATH = (Role.SENSITIVE, "registers have it; moved with the person's other dates")
    SECRET = (Role.SENSITIVE, "taken as known to nobody outside")
    DETAIL = (Role.INSENSITIVE, "how it was recorded, which nobody outside knows")
    ASKED = (Role.SENSITIVE, "people around a patient may know it")
    TEXT = (Role.TEXT, "free text, redacted")
    PART_OF_BIRTH = (Role.DIRECT, "the year of birth leaves in its place")
    IDENTIFIER = (Role.DIRECT, "of a person, a place or a clinician")
    FREE = (Role.DIRECT, "free text or a number of a package")
    TIME = (Role.UNREVIEWED, "a time of day; the day leaves")
    SOURCE = (Role.UNREVIEWED, "finer than the standard concept that leaves")
    OTHER = (Role.UNREVIEWED, "the course of care, or tables left out")

    @property
    def role(self) -> Role:
        """Role of the column."""
        return self.value[0]

    @property
    def reason(self) -> str:
        """Why, in words."""
        return self.value[1]


_NAMES: Mapping[Treatment, str] = {
    Treatment.KEY: "visit_occurrence_id condition_occurrence_id drug_exposure_id measurement_id note_id",
    Treatment.QUASI: "gender_concept_id year_of_birth race_concept_id ethnicity_concept_id",
    Treatment.PART_OF_BIRTH: "month_of_birth day_of_birth birth_datetime",
    Treatment.IDENTIFIER: "person_source_value location_id provider_id care_site_id",
    Treatment.SHIFTED: "visit_start_date visit_end_date condition_start_date condition_end_date "
    "drug_exposure_start_date drug_exposure_end_date verbatim_end_date measurement_date note_date",
    Treatment.DEATH: "death_date",
    Treatment.TIME: "visit_start_datetime visit_end_datetime condition_start_datetime condition_end_datetime "
    "drug_exposure_start_datetime drug_exposure_end_datetime measurement_datetime measurement_time death_datetime "
    "note_datetime",
    Treatment.SECRET: "condition_concept_id drug_concept_id measurement_concept_id value_as_number value_as_concept_id",
    Treatment.ASKED: "visit_concept_id cause_concept_id",
    Treatment.DETAIL: "visit_type_concept_id condition_type_concept_id condition_status_concept_id "
    "drug_type_concept_id route_concept_id refills quantity days_supply measurement_type_concept_id "
    "operator_concept_id unit_concept_id range_low range_high death_type_concept_id note_type_concept_id "
    "note_class_concept_id encoding_concept_id language_concept_id",
    Treatment.TEXT: "note_text",
    Treatment.FREE: "sig lot_number note_title",
    Treatment.SOURCE: "gender_source_value gender_source_concept_id race_source_value race_source_concept_id "
    "ethnicity_source_value ethnicity_source_concept_id visit_source_value visit_source_concept_id "
    "admitted_from_source_value discharged_to_source_value condition_source_value condition_source_concept_id "
    "condition_status_source_value drug_source_value drug_source_concept_id route_source_value dose_unit_source_value "
    "measurement_source_value measurement_source_concept_id unit_source_value unit_source_concept_id "
    "value_source_value cause_source_value cause_source_concept_id note_source_value",
    Treatment.OTHER: "admitted_from_concept_id discharged_to_concept_id preceding_visit_occurrence_id visit_detail_id "
    "stop_reason measurement_event_id meas_event_field_concept_id note_event_id note_event_field_concept_id",
}
_COLUMNS = {name: treatment for treatment, names in _NAMES.items() for name in names.split()}

_SEVERAL = "others or none"
CONCEPTS: Mapping[str, GroupLevels] = {
    "gender_concept_id": GroupLevels(levels=({"*": ("8507", "8532", "8521", "8551", "8570", "0")},)),
    "race_concept_id": GroupLevels(
        levels=(
            {
                "White": ("8527",),
                "Black": ("8516",),
                "Asian": ("8515",),
                _SEVERAL: ("8557", "8657", "8522", "8552", "44814659", "0"),
            },
            {"White": ("White",), "all but White": ("Black", "Asian", _SEVERAL)},
        )
    ),
    "ethnicity_concept_id": GroupLevels(levels=({"*": ("38003563", "38003564", "0")},)),
}
"""Standard concepts of demographic columns in groups: male, female, other, unknown, ambiguous; White, Black or African
American, Asian, Native Hawaiian or other Pacific Islander, American Indian or Alaska Native, other, unknown, several;
Hispanic or Latino, and not. 0 is no matching concept. The last group of the first level takes concepts not listed."""


@dataclass(frozen=True)
class Recognized:
    """The files of a folder by the table of the model that each is, and those that are left out."""

    tables: Mapping[str, str]
    """Name of a file's table by the name of the table of the model."""
    left_out: tuple[str, ...]
    """Sentences on the others."""


def recognized(names: Iterable[str]) -> Recognized | None:
    """Which tables are of OMOP, by name; None where the folder has no table of persons or nothing beside it."""
    by_name = {name.lower(): name for name in names}
    tables = {table: by_name[table] for table in TABLES if table in by_name}
    if PERSON not in tables or len(tables) < 2:
        return None
    others = [
        f"{given}: this draft has no presets for the table; its rows tell of the same people, so add it by hand"
        if name in OTHER_TABLES.split()
        else f"{given}: no table of OMOP CDM 5.4"
        for name, given in by_name.items()
        if name not in tables
    ]
    return Recognized(tables, tuple(others))


def suggested(column: ColumnProfile, languages: Set[str]) -> Suggestion:
    """Role and terms of a column of a table of the model; `languages` are the concepts of the notes' languages."""
    treatment = _COLUMNS.get(column.name.lower())
    if treatment is None:
        return Suggestion(column, Role.UNREVIEWED, ("OMOP CDM 5.4 has no such column",))
    role, reason = treatment.role, treatment.reason
    doubt = None if role.withheld and not role.delivered else _doubt(column, treatment, languages)
    if doubt is not None:
        return Suggestion(column, Role.UNREVIEWED, (doubt,))
    terms = {**_terms(treatment), **(_NO_SCAN if _is_code(column, treatment) else {})}
    return Suggestion(column, role, (reason,), terms=terms, groups=CONCEPTS.get(column.name.lower()))


def _is_code(column: ColumnProfile, treatment: Treatment) -> bool:
    """Whether a column leaves with concepts as they are."""
    leaves = treatment in (Treatment.SECRET, Treatment.DETAIL, Treatment.ASKED)
    return leaves and column.name.lower().endswith("_concept_id")


def _doubt(column: ColumnProfile, treatment: Treatment, languages: Set[str]) -> str | None:
    """Why a column that the model would let leave is withheld after all; None where nothing speaks against it."""
    if column.distinct == 0:
        return NO_VALUE
    if treatment is Treatment.TEXT:
        return None if languages <= ENGLISH else "some of it is in a language in which the scanner is not measured"
    if column.patterns and not _is_code(column, treatment):
        return f"it seems to hold {', '.join(name.plural for name in column.patterns)}"
    if treatment in (Treatment.SHIFTED, Treatment.DEATH) and column.type is not ValueType.DATE:
        return "not all of its values are dates"
    if treatment is Treatment.KEY and column.missing:
        return "some rows lack it, as no pseudonym may"
    return None


def languages(columns: Mapping[str, Columns]) -> frozenset[str]:
    """Concepts of the languages of all notes of a folder's tables."""
    notes = columns.get("note", {})
    return frozenset(
        str(value) for name, column in notes.items() if name.lower() == "language_concept_id" for value in column.values
    )


def _terms(treatment: Treatment) -> Mapping[str, str]:
    """Terms of an attribute that follow, as YAML."""
    if treatment is Treatment.KEY:
        return PSEUDONYM
    if treatment in (Treatment.SHIFTED, Treatment.DEATH):
        return {"date": f"{{shift: person, days: {SHIFT_DAYS}}}"}
    if treatment is Treatment.TEXT:
        return {"text": "{language: en}"}
    return {"known_probability": "0"} if treatment in (Treatment.SECRET, Treatment.DETAIL) else {}
