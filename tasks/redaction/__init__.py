"""Free text with what identifies people in it replaced by its kind, and how well that is done."""
