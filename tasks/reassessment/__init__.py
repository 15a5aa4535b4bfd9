"""Assessing again what has left: the same bytes under today's population, policy, prices and program."""
