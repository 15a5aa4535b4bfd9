"""Why a verdict is what it is: for each lever, the smallest change that turns it, found by re-solving the game."""
