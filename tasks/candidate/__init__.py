"""One recipient's copy as it would leave, and all that follows from it."""
