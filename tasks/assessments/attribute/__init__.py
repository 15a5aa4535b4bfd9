"""Sensitive values that a class discloses of its records, without any of them being found."""
