"""Assessing copies again: earlier releases in the world of today, and copies in one hand beside a new one."""
