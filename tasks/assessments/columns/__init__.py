"""The place of every released column in the attack: what it tells of quasi-identifiers, withheld columns and people."""
