"""Questions in a terminal: each with its reason above it, each answer judged at once and asked for again if wrong.

Enter takes the default that is shown, or leaves the question open.
"""

from collections.abc import Callable, Mapping

from rich.console import Console
from rich.prompt import Confirm, InvalidResponse, Prompt
from rich.text import Text

LEFT = ""
"""What a question that is left open gives."""


def _nothing(_: str) -> str:
    return ""


class Asking:
    """Questions on one console."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def text(self, question: str, why: str = "", *, default: str = LEFT, wrong: Callable[[str], str] = _nothing) -> str:
        """One line of text; `wrong` says what is wrong with an answer, empty where nothing is."""
        self._explain(why)
        return _AnsweredLine(_prompt(question), self.console, wrong, default).answer()

    def options(self, options: Mapping[str, str]) -> None:
        """Options by their keys, each with its meaning on a line of its own."""
        for key, meaning in options.items():
            self.console.print(Text(f"  {key}  {meaning}"))

    def choice(
        self, question: str, options: Mapping[str, str], *, default: str, why: str = "", listed: bool = True
    ) -> str:
        """The key of one of some options, which are listed unless they were before."""
        self._explain(why)
        self.options(options if listed else {})
        chosen: str = Prompt.ask(_prompt(question), console=self.console, choices=[*options], default=default)
        return chosen

    def confirmed(self, question: str, why: str = "", *, default: bool) -> bool:
        """Yes or no."""
        self._explain(why)
        return Confirm.ask(_prompt(question), console=self.console, default=default)

    def say(self, words: str, style: str = "") -> None:
        """A paragraph after an empty line."""
        self.console.print()
        self.console.print(Text(words, style))

    def _explain(self, why: str) -> None:
        self.console.print()
        if why:
            self.console.print(Text(why, "dim"))


def _prompt(question: str) -> Text:
    return Text(question[:1].upper() + question[1:], "bold")


class _AnsweredLine(Prompt):
    """A line of text that is judged as soon as it is entered."""

    def __init__(self, prompt: Text, console: Console, wrong: Callable[[str], str], default: str) -> None:
        super().__init__(prompt, console=console, show_default=default != LEFT)
        self.wrong, self.default = wrong, default

    def answer(self) -> str:
        """The line, the default, or LEFT."""
        given: str = self(default=self.default)
        return given

    def process_response(self, value: str) -> str:
        """The line without spaces around it; InvalidResponse with what is wrong."""
        found = self.wrong(value.strip()) if value.strip() else ""
        if found:
            raise InvalidResponse(Text(found, "red"))
        return value.strip() or self.default
