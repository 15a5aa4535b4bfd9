"""Released free text: how well identifiers in it are found, and what remains."""
