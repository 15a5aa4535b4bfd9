"""The library of a workspace: enrolled policies, populations, hierarchies and templates."""
