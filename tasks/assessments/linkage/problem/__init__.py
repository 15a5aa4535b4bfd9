"""The problem of linkage: files side by side, and figures of an attack on them."""
