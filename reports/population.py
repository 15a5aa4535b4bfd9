"""The words of a determination for what the people of a class are counted in."""

from reports import numbers
from reports.document import said
from tasks.decision.record import PopulationFact
from tasks.request.part import listed
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
        PopulationBasis.SAMPLE: f"the file's own counts of {people} people, who are taken to be a random sample of "
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
        "is assumed to be right. A class that tells one of the latter is counted as the people of the file in it, "
        "which are no more than those of the population; a class that tells none of them is counted in the table. The "
        f"file holds {fraction} as many records as the table has people, and its subjects are assumed to belong to "
        "that population.",
        PopulationBasis.FILE: f"Everybody of the population ({named}) is assumed to be in the file, and others to know "
        f"so: its {people} people alone are counted. If the population has more people, no group of people who "
        "are alike (class) has fewer, and no risk of a single attempt is higher than stated.",
        PopulationBasis.SAMPLE: f"The file is assumed to be a simple random sample of {fraction} of the "
        f"{numbers.integer(population.size or 0)} people of the population ({named}), each person once. Risks that are "
        "not called estimated do not rest on that: they count the file's own people, of whom no class has more than of "
        "the population's, and no such risk is higher than stated. Estimated risks do: where the sample was chosen "
        "otherwise, or the population is smaller, they may be too low.",
    }[population.basis]


def counted_over(population: PopulationFact) -> str:
    """Counting of the figures of risk."""
    lacking = listed(list(population.lacks), "or")
    exact = "Every figure below is an exact count over file and population table, not an estimate."
    return {
        PopulationBasis.TABLE: exact,
        PopulationBasis.TABLE_AND_FILE: f"{exact} A class that tells {lacking} has "
        "at least the people who are counted, since those of the file alone are; its risk is at most the one shown.",
        PopulationBasis.FILE: "Every figure below is an exact count over the file, which is its own population.",
        PopulationBasis.SAMPLE: "Every figure below, but for those called estimated, is an exact count over the file. "
        "A class has at least as many people in the population, so that its risk there is at most the one shown.",
    }[population.basis]


def basis(population: PopulationFact) -> str:
    """Place in which the people are counted, for a list of facts."""
    lacking = f"a table without {listed(list(population.lacks))}, and the file by these"
    return {
        PopulationBasis.TABLE: "a table by all quasi-identifiers",
        PopulationBasis.TABLE_AND_FILE: lacking,
        PopulationBasis.FILE: "the file, which holds everybody of the population",
        PopulationBasis.SAMPLE: said(
            "the file, taken to be a random sample of",
            f"{numbers.integer(population.size or 0)} people",
        ),
    }[population.basis]
