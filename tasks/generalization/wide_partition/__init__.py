"""The partition of a population into released cells where the count cube does not reach."""
