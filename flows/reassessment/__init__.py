"""Assessing earlier releases again: the same bytes in the world of today."""
