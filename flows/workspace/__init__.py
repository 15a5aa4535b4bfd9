"""The workspace of a gate: its folders, locks and ledger, and who acts in it when."""
