"""Jobs that learn from use: judged queries and corrections."""
