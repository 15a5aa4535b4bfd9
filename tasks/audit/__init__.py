"""The audit of a period, computed from the ledger's entries alone."""
