"""Keyed pseudonyms in place of identifiers, and the crosswalk between the two."""
