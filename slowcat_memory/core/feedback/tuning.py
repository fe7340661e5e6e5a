"""What was learned from a namespace's judged queries, as the store keeps it: figures, no words.

Kept in the note of a cursor, so that a job writes it in one transaction; the cursor's position is
the last judged turn that was learned from.
"""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.ranking.fusion import VIEWS, WITH_KEYS, FuseOptions

TUNING_VERSION = 1  # raise it when views or their scales change: what was learned is void then


class Tuning(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was learned.

    Attributes:
        version: ``TUNING_VERSION`` when it was learned.
        weights: Weight by view; empty where the usual ones are not shown to be beaten.
        keyed: Whether they were learned where memories have keys: words weigh otherwise there.
        since: Log id of the turn from which on they are in use.
        queries: How many judged queries it was learned from.
        before: Mean average precision by the usual weights, on queries not learned from.
        after: By learned ones.
        agreement: How far the judge tells the best from the rest; 0.5 is chance.
        withdrawn: Version of the judge's prompt whose judgements were taken back; 0 for none.
    """

    version: int = 0
    weights: dict[str, float] = {}
    keyed: bool = False
    since: int = 0
    queries: int = 0
    before: float = 0.0
    after: float = 0.0
    agreement: float = 0.5
    withdrawn: int = 0

    @staticmethod
    def read(note: str) -> "Tuning":
        """Read a note.

        Args:
            note: Of the cursor; whatever it holds.

        Returns:
            What was learned; nothing of an unreadable note, or of another version's.
        """
        try:
            found = msgspec.json.decode(note.encode(), type=Tuning)
        except (msgspec.DecodeError, ValueError):
            return Tuning()
        return found if found.version == TUNING_VERSION else Tuning()

    def note(self) -> str:
        """Write a note.

        Returns:
            JSON.
        """
        return msgspec.json.encode(replace(self, version=TUNING_VERSION)).decode()

    def apply(self, options: FuseOptions) -> FuseOptions:
        """Take the learned weights, where nobody has set any by hand.

        Args:
            options: As configured.

        Returns:
            With the learned weights; as they were when there are none, they are not wanted, or
            a person chose weights: then theirs count.
        """
        usual = FuseOptions()
        known = {view: weight for view, weight in self.weights.items() if view in VIEWS}
        if not known or _differs(options, usual):
            return options
        for view in WITH_KEYS if self.keyed else ():
            if view in known:
                known[f"{view}_with_keys"] = known.pop(view)
        return replace(options, **known)


def _differs(options: FuseOptions, usual: FuseOptions) -> bool:
    return any(options.weights(keyed) != usual.weights(keyed) for keyed in (0.0, 1.0))


def tuning_name(scope: str) -> str:
    """Name the cursor that keeps what was learned of a namespace.

    Args:
        scope: The namespace.

    Returns:
        The cursor's name.
    """
    return f"tune/{scope}"
