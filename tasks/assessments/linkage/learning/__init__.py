"""Distances learned from the original file: the strongest intruder that distance-based linkage knows."""
