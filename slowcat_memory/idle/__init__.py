"""Nobody speaks: make tomorrow's recall better."""
