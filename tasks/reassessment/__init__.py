"""Assessing earlier releases again: the same bytes under today's population, policy, prices and program."""
