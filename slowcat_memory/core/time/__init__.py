"""Time expressions, calendar arithmetic in the user's zone, and days and weeks."""
