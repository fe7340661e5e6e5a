"""Pure functions on records: no I/O, no clock, no asyncio."""
