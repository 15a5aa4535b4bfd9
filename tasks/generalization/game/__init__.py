"""The game of a request: its problem, its follower, its exact solvers, and the count index they all share."""
