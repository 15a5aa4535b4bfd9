"""Drafting a release request from the data: roles suggested, hierarchies built, every choice explained."""

from tasks.draft.draft import Draft, draft_request, write_draft

__all__ = ["Draft", "draft_request", "write_draft"]
