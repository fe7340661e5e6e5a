"""Utterances to sessions: by their label, else by what lies between them."""

from datetime import datetime, timedelta

from slowcat_memory.transfer.transcript import TranscriptSession, Utterance

GAP = timedelta(hours=1)  # between two turns of one unlabelled session at most


class Gathering:
    """Puts utterances, as they come, into sessions.

    A label names a session wherever its turns stand. Without one, a new session begins when told
    to, and after more than an hour without a word.
    """

    def __init__(self, scope: str = "") -> None:
        """Start empty.

        Args:
            scope: The scope the sessions were exported from, else "".
        """
        self._scope = scope
        self._turns: dict[str, list[Utterance]] = {}
        self._started: dict[str, datetime | None] = {}
        self._open = ""
        self._last: datetime | None = None

    def begin(self, label: str = "", started: datetime | None = None) -> None:
        """Begin a session.

        Args:
            label: Its name; "" numbers it.
        """
        number = len(self._turns) + 1
        self._open = label or str(number)
        if label in self._turns:  # two sessions under one heading
            self._open = f"{label} ({number})"
        self._turns[self._open], self._started[self._open] = [], started
        self._last = started

    def add(self, utterance: Utterance, label: str = "") -> None:
        """Add an utterance to its session.

        Args:
            label: Its session's name, "" when the transcript has no names for sessions.
        """
        if label:
            self._turns.setdefault(label, []).append(utterance)
            return
        if not self._open or self._after_gap(utterance):
            self.begin()
        self._last = utterance.at or self._last
        self._turns[self._open].append(utterance)

    def _after_gap(self, utterance: Utterance) -> bool:
        if utterance.at is None or self._last is None or not self._turns[self._open]:
            return False
        if (utterance.at.tzinfo is None) != (self._last.tzinfo is None):
            return False
        return utterance.at - self._last > GAP

    def append_line(self, more: str) -> bool:
        """Go on with the latest utterance.

        Returns:
            False when there is none to go on with.
        """
        turns = self._turns.get(self._open)
        if not turns:
            return False
        last = turns[-1]
        turns[-1] = Utterance(
            speaker=last.speaker,
            text=f"{last.text}\n{more}".strip(),
            role=last.role,
            at=last.at,
            origin=last.origin,
        )
        return True

    def sessions(self) -> tuple[TranscriptSession, ...]:
        """Return what was gathered.

        Returns:
            Sessions in the order in which they began; those without a word are left out.
        """
        return tuple(
            TranscriptSession(
                id=label,
                started=self._started.get(label),
                utterances=tuple(turns),
                scope=self._scope,
            )
            for label, turns in self._turns.items()
            if turns
        )
