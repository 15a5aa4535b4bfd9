"""Reading data and populations; hierarchies, lattice, classes and count cube."""
