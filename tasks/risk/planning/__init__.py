"""The adversary who plans: independent solvers of the model, and its extensions."""
