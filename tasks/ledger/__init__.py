"""The append-only, hash-chained record of every request, decision, release and refusal."""
