"""Requests without a decision: the queue on disk, the steps of their runs, and what a board shows of them."""
