"""The sequential adversary: independent solvers of the model, and its extensions."""
