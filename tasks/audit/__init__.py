"""The audit of a period: what the ledger's entries tell of it, computed from them alone."""
