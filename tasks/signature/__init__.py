"""Signatures of experts on a determination's PDF, with X.509 certificates."""
