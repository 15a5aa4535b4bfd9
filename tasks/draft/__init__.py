"""Drafting a release request from the data: roles suggested, hierarchies built, every choice explained."""
