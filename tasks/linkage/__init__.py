"""Attacks on what is released, by an intruder who knows the method."""
