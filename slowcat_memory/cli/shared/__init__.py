"""What several commands share: arguments, settings, output."""
