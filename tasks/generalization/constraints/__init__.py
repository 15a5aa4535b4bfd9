"""Privacy models: constraints on equivalence classes, a module each, listed in ``registry``."""
