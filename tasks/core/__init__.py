"""Base of all packages: errors, artifacts, hashes, facts, people, permissions and seeds."""
