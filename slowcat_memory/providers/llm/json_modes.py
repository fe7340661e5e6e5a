"""How a server is asked for JSON: the strictest way that it takes, found by trying, remembered."""

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.providers.llm.json_schema import schema_of, schema_text

Form = Literal["json_schema", "json_object", "prompt"]
FORMS: tuple[Form, ...] = ("json_schema", "json_object", "prompt")


class Rung(Struct, frozen=True):
    """One way of asking.

    Attributes:
        form: "json_schema": the server's grammar allows nothing else. "json_object": some JSON,
            the schema is in the prompt too. "prompt": the prompt alone.
        usage: The server is asked to count tokens.
    """

    form: Form = "json_schema"
    usage: bool = True

    def arguments(self, name: str, into: type[Struct]) -> dict[str, Any]:
        """Say it as arguments of a request.

        Args:
            name: What the answer is called.
            into: Its type.

        Returns:
            What the request has beside its messages.
        """
        more: dict[str, Any] = {"stream_options": {"include_usage": True}} if self.usage else {}
        schema = schema_of(into)
        if self.form == "json_schema":
            body = {"name": name, "schema": schema, "strict": True}
            more["response_format"] = {"type": "json_schema", "json_schema": body}
        elif self.form == "json_object":
            more["response_format"] = {"type": "json_object", "schema": schema}
        return more

    def system(self, words: str, into: type[Struct]) -> str:
        """Put the schema into the instruction, where the server's grammar does not know it.

        Args:
            words: The instruction.
            into: Type of the answer.

        Returns:
            The instruction to send.
        """
        if self.form == "json_schema":
            return words
        return f"{words}\n\nAnswer with one JSON object of this schema:\n{schema_text(into)}"

    def below(self, counting: bool = False) -> "Rung | None":
        """Step down.

        Args:
            counting: The server refuses to count tokens; then only that is left out.

        Returns:
            The next rung to try, None below the last.
        """
        lower = FORMS[FORMS.index(self.form) + 1 :]
        if self.usage and (counting or not lower):
            return replace(self, usage=False)
        return replace(self, form=lower[0]) if lower else None


class Ladder:
    """Remembers for each server and model the rung that it took."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._rungs: dict[tuple[str, ...], Rung] = {}

    def rung(self, server: tuple[str, ...]) -> Rung:
        """Tell how to ask.

        Args:
            server: Base URL, model, and which server it is.

        Returns:
            The rung that it took last, the highest when none is known.
        """
        return self._rungs.get(server, Rung())

    def took(self, server: tuple[str, ...], rung: Rung) -> None:
        """Remember a rung on which an answer came.

        Args:
            server: As in ``rung``.
            rung: The rung.
        """
        self._rungs[server] = rung
