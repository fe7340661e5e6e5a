"""Reads a source: which format it has, and its pieces as the user wants them taken."""

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.errors import ConfigError, TranscriptError
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.transfer.decoding import Decoded
from slowcat_memory.transfer.formats import recognise
from slowcat_memory.transfer.formats.format import Break, Piece, Placed
from slowcat_memory.transfer.sources import Source
from slowcat_memory.transfer.transcript import Report, Utterance, fault


class Options(Struct, frozen=True, kw_only=True):
    """How a file is read.

    Attributes:
        scoped: Whether a line's own scope must be a valid name, as it will be used.
        encoding: Of the file; "" to find out.
        me: The name in the file of the user; "" when the file says it, or nothing does.
        agents: The names in the file of agents, besides "Assistant" and the like.
        latest: Turns later than this are left out and reported; None to take them.
        zone: Of times without a zone.
    """

    scoped: bool = True
    encoding: str = ""
    me: str = ""
    agents: frozenset[str] = frozenset()
    latest: datetime | None = None
    zone: tzinfo = UTC


class Reading:
    """A source whose format is known; its pieces can be read several times."""

    def __init__(self, source: Source, options: Options) -> None:
        """Recognise the format.

        Raises:
            TranscriptError: The source cannot be read, or is of no known format.
        """
        self.source, self._options = source, options
        self._text = Decoded(source, options.encoding)
        self.encoding = self._text.encoding
        self.format = recognise(self._text.sample)

    @property
    def name(self) -> str:
        """The name of a conversation that the file does not name: the file's, without endings."""
        return self.source.name.replace("\\", "/").rpartition("/")[2].split(".")[0]

    def pieces(self, report: Report) -> Iterator[Piece]:
        """Yield the pieces; report what cannot be read, or is not taken.

        Raises:
            TranscriptError: The source cannot be opened any more.
        """
        refused_from: Break | None = None
        try:
            for piece in self.format.read(self._text, report):
                if isinstance(piece, Break):
                    refused_from = piece if self._is_late(piece.started) else None
                    if refused_from:
                        report(self._late(piece.line, piece.started))
                if not isinstance(piece, Placed):
                    yield piece
                elif refused_from is None or piece.session not in ("", refused_from.label):
                    yield from self._taken(piece, report)
        except ValueError as error:
            report(TranscriptError(f"the rest cannot be read: {error}"))

    def _taken(self, piece: Placed, report: Report) -> Iterator[Placed]:
        if self._options.scoped and piece.scope:
            try:
                check_scope(piece.scope)
            except ConfigError as error:
                return report(fault(piece.line, error))
        if self._is_late(piece.said.at):
            return report(self._late(piece.line, piece.said.at))
        said = self._as_cast(piece.said) if isinstance(piece.said, Utterance) else piece.said
        yield replace(piece, said=said)

    def _as_cast(self, said: Utterance) -> Utterance:
        """Return an utterance with the role of its speaker, and the user's under no name."""
        name = said.speaker.casefold()
        if name and name == self._options.me.casefold():
            return replace(said, speaker="", role="user", written=said.who())
        if name in self._options.agents:
            return replace(said, role="assistant", written=said.who())
        return said

    def _is_late(self, at: datetime | None) -> bool:
        latest = self._options.latest
        return latest is not None and at is not None and self.utc(at) > latest

    def utc(self, at: datetime) -> datetime:
        """Return a time of the file, in UTC."""
        return (at if at.tzinfo else at.replace(tzinfo=self._options.zone)).astimezone(UTC)

    def _late(self, line: int, at: datetime | None) -> TranscriptError:
        return TranscriptError(
            f"line {line}: dated in the future: {at:%Y-%m-%d %H:%M}",
            hint="`--allow-future` takes it.",
        )
