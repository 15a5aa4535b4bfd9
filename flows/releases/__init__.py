"""Releases as they were decided: identity, bundle, standing, and the copies that have left."""
