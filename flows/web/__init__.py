"""The reviewer's page: sign in, see what awaits review and what it rests on, vote, revoke, search the ledger, audit.

Pages are HTML from ``templates/web`` and work without scripts. FastAPI is imported here and in ``flows.service`` only.
"""

from flows.web.app import create_app
from flows.web.settings import Settings

__all__ = ["Settings", "create_app"]
