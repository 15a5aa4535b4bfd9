"""Incidents: the recipient that a leak came from, by decoys or pseudonyms."""
