"""The released file: writing it, reading it back, sealing the bundle."""
