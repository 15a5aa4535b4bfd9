"""The place of every released column in the attack: its findings on quasi-identifiers, withheld columns and people."""
