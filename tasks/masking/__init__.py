"""Masking of numeric columns: one module a method, listed in ``registry``."""
