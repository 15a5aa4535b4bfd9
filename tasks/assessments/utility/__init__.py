"""Utility: information that generalization and masking lose, and what analyses of both files find."""
