"""Decoy records: real people of the register, in classes of their own for each recipient, and what traces back to them."""
