"""Expectations derived from the request, and the value-free projection of their results."""
