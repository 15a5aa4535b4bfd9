"""Dates that leave shifted, by an offset of the person and the recipient, or as days since an index event."""
