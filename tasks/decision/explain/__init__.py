"""Why a verdict is what it is: for each lever, the smallest change that reverses it, found by solving again."""
