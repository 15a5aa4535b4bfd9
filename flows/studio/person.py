"""The one person of a studio on their own machine."""

from flows.accounts import Account, Accounts, Duty
from flows.actor import actor, utc_now
from flows.workspace import Workspace

LOGIN = "studio"


class OnePerson(Accounts):
    """The account of whoever has started the program: no password signs it in, and no file has it."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._only = Account(
            login=LOGIN,
            name=actor(),
            duties=frozenset({Duty.REQUESTER, Duty.REGULATOR}),
            password=None,
            since=utc_now(),
        )

    def _read(self) -> dict[str, Account]:
        return {self._only.login: self._only}
