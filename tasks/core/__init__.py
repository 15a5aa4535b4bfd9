"""Base of all packages: errors, artifacts, hashes, the form of facts."""
