"""Outcomes of the game under other stakes, over whole maps of stakes at once."""
