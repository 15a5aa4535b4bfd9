"""Requests that are written in a page: the files of each, what the page shows of them, quick figures, and runs.

A project is a request document with the files that it names. The page keeps nothing else: whatever it changes is in the
document, or in a hierarchy beside it.
"""
