"""Here are records, give me records: pure thinking, no I/O, no clock, no asyncio."""
