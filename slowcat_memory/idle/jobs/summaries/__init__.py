"""Jobs that summarise sessions, days, weeks and topics."""
