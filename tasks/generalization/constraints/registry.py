"""All privacy models beyond k-anonymity itself. One more is a module, a line here, and its policy term."""

from tasks.generalization.constraints.closeness import CLOSENESS
from tasks.generalization.constraints.diversity import DIVERSITY
from tasks.generalization.constraints.k_map import K_MAP

PRIVACY_MODELS = (K_MAP, DIVERSITY, CLOSENESS)
