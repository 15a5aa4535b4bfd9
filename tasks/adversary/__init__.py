"""The sequential adversary as a factored Markov decision process (Xia et al. 2015): a table over group sizes."""

from tasks.core.postponed import postpone_numpy_tools

postpone_numpy_tools()
