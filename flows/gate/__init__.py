"""The gate: one call, from a request on disk to a published bundle, or to a dry run that leaves nothing."""
