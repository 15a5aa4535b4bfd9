"""Optimal full-domain k-anonymity with suppression, further constraints, and local recoding of what is suppressed."""
