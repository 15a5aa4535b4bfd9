"""The document model, and a decision record in its terms: figures, charts, wording and the small-cell rule."""
