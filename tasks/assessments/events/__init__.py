"""Rows of a file where a person has several, and the information they add to the attributes of the person."""
