"""Records that a few of the released columns single out, in the file and in the population it is a sample of."""
