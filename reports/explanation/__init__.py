"""Explanations of a verdict as blocks of the document model."""
