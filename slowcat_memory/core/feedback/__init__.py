"""Feedback: how a user's reaction to a reply is recognised, and how judged queries move ranking."""
