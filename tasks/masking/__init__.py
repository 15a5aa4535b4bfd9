"""Masking stage."""
