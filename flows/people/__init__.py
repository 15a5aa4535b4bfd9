"""The people of a workspace: persons in their roles, signing keys, accounts of the page and tokens."""
