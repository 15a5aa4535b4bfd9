"""Utility of a release."""
