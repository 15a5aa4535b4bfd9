"""The ways to measure a candidate, one folder each; ``registry`` lists them."""

from tasks.core.postponed import postpone

for _part in ("f2py", "testing"):  # SciPy goes through all parts of NumPy as it is imported; these take longest
    postpone(f"numpy.{_part}")
