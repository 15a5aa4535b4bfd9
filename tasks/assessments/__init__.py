"""The ways to measure a candidate, one folder each; ``registry`` lists them."""
