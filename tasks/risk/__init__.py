"""Prosecutor, journalist and marketer risk."""
