"""Order of the steps, and nothing else; and the command line."""
