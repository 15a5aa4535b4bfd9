"""Rows of a file where a person has several: what they tell beside the attributes of the person."""
