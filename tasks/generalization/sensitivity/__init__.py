"""Outcomes of the games under other stakes, over whole maps of stakes at once."""
