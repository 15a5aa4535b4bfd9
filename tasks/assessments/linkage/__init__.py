"""Record linkage of the release to the original file (Torra 2016)."""
