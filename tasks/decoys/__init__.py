"""Decoy records: people of the population in classes of their own for each recipient, and what traces to them."""
