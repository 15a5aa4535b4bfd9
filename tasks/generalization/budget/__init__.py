"""Budgets over the whole file: the publisher's greatest payoff within limits on the file as a whole."""
