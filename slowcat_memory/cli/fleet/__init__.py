"""Commands of a fleet: many workers, many people, one database."""
