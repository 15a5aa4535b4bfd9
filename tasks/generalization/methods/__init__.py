"""Generalization methods: a module each, listed in ``registry``."""
