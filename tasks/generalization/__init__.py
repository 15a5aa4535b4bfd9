"""The re-identification game and what else can generalize quasi-identifiers."""
