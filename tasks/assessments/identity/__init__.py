"""Identity disclosure, the outcome of the game, and both under other terms."""
