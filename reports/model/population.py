"""The words of a determination for what the people of a class are counted in."""

from reports.model import numbers
from reports.model.document import said
from tasks.assessments.identity.facts import RiskFact
from tasks.core.plural import listed
from tasks.decision.record import PopulationFact
from tasks.request.population import PopulationBasis

TITLES = {
    PopulationBasis.TABLE: "The population table",
    PopulationBasis.TABLE_AND_FILE: "The population table and the file",
    PopulationBasis.FILE: "The file is the population",
    PopulationBasis.SAMPLE: "The file is a random sample",
}
"""Title of the assumption on the population."""


def people_known(population: PopulationFact) -> str:
    """Knowledge of the numbers of people that a recipient is assumed to have."""
    return {
        PopulationBasis.TABLE: "the population table",
        PopulationBasis.TABLE_AND_FILE: "the population table and the file's own counts",
    }.get(population.basis, "the file's own counts")


def rests_on(population: PopulationFact, people: str) -> str:
    """Basis of the figures, as part of a sentence; ``people`` is their number as it may be shown."""
    return {
        PopulationBasis.TABLE: f"a population table of {people} people",
        PopulationBasis.TABLE_AND_FILE: f"a population table of {people} people, which lacks "
        f"{listed(list(population.lacks))}, on the file's own counts by these",
        PopulationBasis.FILE: f"the {people} people of the file alone, who count as the whole population",
        PopulationBasis.SAMPLE: f"the file's own counts of {people} people, who are assumed to be a random sample of "
        f"{numbers.integer(population.size or 0)}, as the request states",
    }[population.basis]


def assumed(population: PopulationFact) -> str:
    """The assumption on the population, but for columns that do not fit a table."""
    named, people = f"“{population.source}”", numbers.integer(population.people)
    fraction = numbers.percent(population.sampling_fraction)
    lacking = listed(list(population.lacks))
    return {
        PopulationBasis.TABLE: f"{named} counts {people} people by the quasi-identifiers and is assumed to be right: a "
        f"group that the table overstates is riskier than stated. The file holds {fraction} as many records as the "
        "table has people, and the subjects of the file are assumed to belong to that population.",
        PopulationBasis.TABLE_AND_FILE: f"{named} counts {people} people by the quasi-identifiers but {lacking}, and "
        "is assumed to be right. A class defined by one of the latter is counted as the people of the file in it, "
        "which are no more than those of the population; any other class is counted in the table. The "
        f"file holds {fraction} as many records as the table has people, and its subjects are assumed to belong to "
        "that population.",
        PopulationBasis.FILE: f"The file is assumed to hold everybody of the population ({named}), and others to "
        f"know that: only its {people} people are counted. If the population has more, each group of people who are "
        "alike (class) has as many people or more, and a single attempt is no riskier than stated.",
        PopulationBasis.SAMPLE: f"The file is assumed to be a simple random sample of {fraction} of the "
        f"{numbers.integer(population.size or 0)} people of the population ({named}), each person once. Estimated "
        "risks rest on that: they may be too low where people were chosen otherwise, or the population is smaller. "
        "All other risks count the file's people alone; the population has as many or more in each group of people who "
        "are alike (class), so that none of these risks is higher than stated.",
    }[population.basis]


def counted_over(population: PopulationFact) -> str:
    """Counting of the figures of risk."""
    lacking = listed(list(population.lacks), "or")
    exact = "Every figure below is an exact count over file and population table, not an estimate."
    return {
        PopulationBasis.TABLE: exact,
        PopulationBasis.TABLE_AND_FILE: f"{exact} A class defined by {lacking} has "
        "at least the people who are counted, since those of the file alone are; its risk is at most the one shown.",
        PopulationBasis.FILE: "Every figure below is an exact count over the file, which is its own population.",
        PopulationBasis.SAMPLE: "Every figure below, but for those called estimated, is an exact count over the file. "
        "A class has at least as many people in the population, so that its risk there is at most the one shown.",
    }[population.basis]


def same_as_prosecutor(population: PopulationFact, risk: RiskFact) -> str:
    """Reason why a journalist's highest risks are a prosecutor's; empty where they differ or a table counts."""
    if any(one.prosecutor.maximum != one.journalist.maximum for one in (risk.initial, risk.residual)):
        return ""
    return {
        PopulationBasis.FILE: "the file is its own population",
        PopulationBasis.SAMPLE: "only the people of the file are counted",
    }.get(population.basis, "")


def basis(population: PopulationFact) -> str:
    """Place in which the people are counted, for a list of facts."""
    lacking = f"a table without {listed(list(population.lacks))}, and the file by these"
    return {
        PopulationBasis.TABLE: "a table by all quasi-identifiers",
        PopulationBasis.TABLE_AND_FILE: lacking,
        PopulationBasis.FILE: "the file, which holds everybody of the population",
        PopulationBasis.SAMPLE: said(
            "the file, assumed to be a random sample of",
            f"{numbers.integer(population.size or 0)} people",
        ),
    }[population.basis]
