"""One representation for each of several recipients who may lay their copies beside each other."""
