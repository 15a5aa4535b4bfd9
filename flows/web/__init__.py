"""The pages: write requests, see releases and their evidence, vote, revoke, search the ledger, audit.

Pages are HTML from ``templates/web`` and work without scripts. FastAPI is imported here and in ``flows.service`` only.
"""
