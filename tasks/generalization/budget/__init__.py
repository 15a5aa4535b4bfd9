"""Budgets over the whole file: the most that the publisher can have while the file as a whole keeps some limits."""
