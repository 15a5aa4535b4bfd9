"""The adversary who makes a sequence of attempts (Xia et al. 2015)."""
