"""Reading data and populations; hierarchies, lattice, classes and count cube."""

from tasks.core.postponed import postpone_numpy_tools

postpone_numpy_tools()
