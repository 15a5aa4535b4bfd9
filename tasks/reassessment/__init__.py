"""Assessing copies again: earlier releases in the world of today, and copies held by one party beside a new one."""
