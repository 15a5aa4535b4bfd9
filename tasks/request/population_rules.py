"""Rules of a request that relate a population without a full table to other parts."""

from collections.abc import Iterator
from typing import Any

from tasks.request.attribute import SafeHarborRule
from tasks.request.measures import ESTIMATED
from tasks.request.part import Rule
from tasks.request.population import PopulationBasis
from tasks.request.recipient import PARTITIONS


def decoys_asked(request: Any) -> str | None:
    """Place of the first term that asks for decoys; None without one."""
    if request.continues is not None:
        return "continues"
    places = (place for place, who in enumerate(request.recipients) if who.decoys is not None)
    return next((f"recipients.{place}.decoys" for place in places), None)


def resources_of(request: Any) -> str | None:
    """Place of the first recipient's resources; None without one."""
    with_some = (place for place, who in enumerate(request.recipients) if who.adversary and who.adversary.resources)
    return next((f"recipients.{place}.adversary.resources" for place in with_some), None)


def masked_places(request: Any) -> list[tuple[str, str]]:
    """Masked attributes and their places."""
    return [
        (name, f"masking.{number}.attributes.{place}")
        for number, masking in enumerate(request.masking)
        for place, name in enumerate(masking.attributes)
    ]


def named_in_policy(request: Any) -> Iterator[tuple[str, str | None]]:
    """Places of the policy that name attributes, each with the name."""
    policy = request.policy
    yield from ((f"policy.linkage.known.{place}", name) for place, name in enumerate(policy.linkage.known or ()))
    yield "policy.utility.target", policy.utility.target
    for kind, place, one in getattr(policy.generalization.k_anonymity, "of_attributes", ()):
        yield f"policy.generalization.k_anonymity.{kind}.{place}.attribute", one.attribute


POPULATION_RULES: tuple[Rule[Any], ...] = (
    Rule(
        "decoys need a population table with all quasi-identifiers: a decoy matches people who are not in the file",
        lambda one: decoys_asked(one) if one.population.basis is not PopulationBasis.TABLE else None,
        got=lambda one: f"decoys, and people counted in the {one.population.basis.value}",
        fix="remove the decoys, or name such a table with population.path",
    ),
    Rule(
        "a register lists people of a population table with all quasi-identifiers",
        lambda one: one.external_data is not None and one.population.basis is not PopulationBasis.TABLE,
        "external_data",
        got=lambda one: f"a register, and people counted in the {one.population.basis.value}",
        fix="remove it: without a register everybody is assumed listed; or name such a table with population.path",
    ),
    Rule(
        "where the file is the population, others know who is in it",
        lambda one: one.population.self and one.policy.presence == "unknown",
        "policy.presence",
        got="presence: unknown beside population.self",
        fix="set “presence: known”; if the file is a sample of more people, give population.size or "
        "population.sampling_fraction in place of self",
    ),
    Rule(
        "policy.singling_out.sampling_fraction is of a file with a population table; the population states others",
        lambda one: one.population.path is None and one.policy.singling_out.sampling_fraction is not None,
        "policy.singling_out.sampling_fraction",
        got="a fraction beside population.self, size or sampling_fraction",
        fix="remove it",
    ),
    Rule(
        "where people are counted from below, an adversary's external data list a share of them by the prior",
        lambda one: resources_of(one) if one.population.from_below else None,
        got="resources that list shares of groups whose size is not known",
        fix="remove the resources and state a prior, or name a population table with all quasi-identifiers",
    ),
    Rule(
        "a gate on estimated.* needs population.size or population.sampling_fraction",
        lambda one: (
            one.population.basis is not PopulationBasis.SAMPLE
            and any(gate.measure in ESTIMATED for gate in one.policy.gates)
        ),
        "policy.gates",
        got=lambda one: f"people counted in the {one.population.basis.value}",
        fix="remove the gate, or state what the file is a random sample of",
    ),
    Rule(
        "population.lacks names quasi-identifiers, and not all of them",
        lambda one: not set(one.population.lacks) < set(one.quasi_identifiers),
        "population.lacks",
        got=lambda one: (
            "all quasi-identifiers"
            if set(one.population.lacks) == set(one.quasi_identifiers)
            else "a name that is not a quasi-identifier"
        ),
        fix="name those that the table does not have; if it has none, count people in the file instead: “self: true”, "
        "size or sampling_fraction",
    ),
    Rule(
        "where the population table lacks quasi-identifiers, every recipient's method is a partition",
        lambda one: bool(one.population.lacks) and not one.methods <= PARTITIONS,
        "policy.generalization.method",
        got="a method that does not divide all people into whole cells, so that nobody can tell whose cell is whose",
        fix="set “method: no-attack-partition” under policy.generalization",
    ),
    Rule(
        "where the population table lacks quasi-identifiers, cells are weighed by the records in them",
        lambda one: bool(one.population.lacks) and one.policy.generalization.cell_weights != "data",
        "policy.generalization.cell_weights",
        got="cells weighed by people, most of whom have no value of these",
        fix="set “cell_weights: data” under policy.generalization",
    ),
    Rule(
        "where the population table lacks quasi-identifiers, there is no k_anonymity",
        lambda one: bool(one.population.lacks) and one.policy.generalization.k_anonymity is not None,
        "policy.generalization.k_anonymity",
        got="k_anonymity beside population.lacks",
        fix="remove it; a budget with least_records keeps classes as large",
    ),
    Rule(
        "a Safe Harbor rule applies only to quasi-identifiers in the population table",
        lambda one: any(
            one.attributes[name].safe_harbor is not SafeHarborRule.NONE
            for name in one.population.lacks
            if name in one.attributes
        ),
        "population.lacks",
        got="an attribute with safe_harbor",
        fix="remove safe_harbor of the attribute, or add its column to the table",
    ),
)
"""Rules for a population without a full table."""
