"""Explanation of a verdict: for each lever, the smallest change that reverses it, found by solving again."""
