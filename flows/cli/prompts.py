"""Questions in a terminal, each answer judged at once and asked for again if wrong.

Enter takes the default that is shown, or leaves the question open; “<” goes back to the question before, and “?” tells
why it is asked.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from rich.console import Console
from rich.prompt import InvalidResponse, Prompt
from rich.text import Text

from reports.model.document import Block
from reports.terminal import show

Result = TypeVar("Result")
LEFT = ""
"""Answer to a question that is left open."""
BACK, NONE, WHY = "<", "-", "?"
"""Answers that go back, refuse a default, and ask for the reason."""


class _WentBackError(Exception):
    """A person wants to answer the question before."""


def _nothing(_: str) -> str:
    return ""


class Asking:
    """Questions on one console.

    To go back, a dialogue is held from its start again: it shows nothing and takes the answers given before, until the
    question that is to be answered anew. The same answers have to lead to the same questions.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._given: list[tuple[str, str]] = []
        """Questions with the answers that stand."""
        self._place = 0
        """Answers that the dialogue has taken, of those that stand."""
        self._earlier: dict[tuple[str, int], str] = {}
        """Answers that were taken back, by question and how often it was asked before."""

    def held(self, dialogue: Callable[[], Result]) -> Result:
        """The result of a dialogue, in which a person may go back."""
        self._given.clear()
        while True:
            self._place = 0
            try:
                return dialogue()
            except _WentBackError:
                question, answer = self._given.pop()
                self._earlier[self._asked(question)] = answer

    def text(
        self,
        question: str,
        why: str = "",
        *,
        default: str = LEFT,
        wrong: Callable[[str], str] = _nothing,
        more: Sequence[Block] = (),
    ) -> str:
        """One line of text; `wrong` says what is wrong with an answer, empty where nothing is.

        `more` is shown with the reason.
        """
        return self._answer(question, why, default, wrong=wrong, more=more)

    def options(self, options: Mapping[str, str]) -> None:
        """Options by their keys, each with its meaning on a line of its own."""
        for key, meaning in options.items():
            self._print(Text(f"  {key}  {meaning}"))

    def confirmed(self, question: str, why: str = "", *, default: bool) -> bool:
        """Yes or no."""
        return self._answer(question, why, "y" if default else "n", choices=["y", "n"]) == "y"

    def say(self, words: str, style: str = "") -> None:
        """A paragraph after an empty line."""
        self._print(Text(f"\n{words}", style))

    def show(self, blocks: Iterable[Block]) -> None:
        """Tables and what else a report may have."""
        if self._is_new:
            show(blocks, self._console)

    @property
    def _is_new(self) -> bool:
        """Whether nobody has answered yet what follows."""
        return self._place == len(self._given)

    def _print(self, words: Text) -> None:
        if self._is_new:
            self._console.print(words)

    def _asked(self, question: str) -> tuple[str, int]:
        return question, sum(asked == question for asked, _ in self._given)

    def _answer(
        self,
        question: str,
        why: str,
        default: str,
        *,
        wrong: Callable[[str], str] = _nothing,
        choices: Sequence[str] = (),
        more: Sequence[Block] = (),
    ) -> str:
        if self._is_new:
            earlier = self._earlier.get(self._asked(question), LEFT)
            usable = earlier in choices if choices else bool(earlier) and not wrong(earlier)
            self._console.print()
            line = _Line(question, self._console, wrong, choices)
            line.is_first, line.tells_emptied, line.explained = not self._given, usable and not choices, (why, more)
            self._given.append((question, line.answer(earlier if usable else default)))
        elif (answer := self._given[self._place][1]) and not choices:
            wrong(answer)  # a dialogue may read what the answer names
        self._place += 1
        return self._given[self._place - 1][1]


class _Line(Prompt):
    """A line of text that is judged as soon as it is entered."""

    is_first = False
    """Whether there is no question to go back to."""
    tells_emptied = False
    """Whether to tell that the default may be refused."""
    explained: tuple[str, Sequence[Block]] = ("", ())
    """The reason for asking, and what else helps to answer."""

    def __init__(self, question: str, console: Console, wrong: Callable[[str], str], choices: Sequence[str]) -> None:
        words = Text(question[:1].upper() + question[1:], "bold")
        super().__init__(words, console=console, choices=[*choices] or None, case_sensitive=False)
        self.wrong, self.default = wrong, LEFT

    def answer(self, default: str) -> str:
        """The line, the default, or LEFT."""
        self.default, self.show_default = default, default != LEFT
        given: str = self(default=default)
        return given

    def render_default(self, default: object) -> Text:
        """The default, and what takes it away."""
        emptied = f"; {NONE} for none" if self.tells_emptied else ""
        return Text(f"({default}{emptied})", "prompt.default")

    def process_response(self, value: str) -> str:
        """The line without spaces around it; InvalidResponse with what is wrong."""
        text = value.strip()
        if text == BACK and not self.is_first:
            raise _WentBackError
        if text == NONE and self.default != LEFT and self.choices is None:
            return LEFT
        if text == WHY:
            why, more = self.explained
            show(more, self.console)
            raise InvalidResponse(Text(why, "dim"))
        if self.choices is not None and text != BACK:
            return super().process_response(text)
        found = "this is the first question" if text == BACK else self.wrong(text) if text else ""
        if found:
            raise InvalidResponse(Text(found, "red"))
        return text or self.default
