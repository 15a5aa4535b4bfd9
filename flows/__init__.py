"""What happens, in order, and nothing else; and the command line."""
