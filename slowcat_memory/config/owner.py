"""Which process owns a store that several processes use."""

from typing import Literal

from msgspec import Struct


class OwnerOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which process opens the store, and which are its clients.

    Attributes:
        mode: "auto" owns the store if nobody does, and is a client of its owner otherwise; "own"
            never is a client; "client" never owns.
        prefer: "serve" gives the store up to `slowcat-memory serve` when one starts; "" keeps it.
    """

    mode: Literal["auto", "own", "client"] = "auto"
    prefer: Literal["", "serve"] = ""
