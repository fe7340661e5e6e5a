"""Making a life: what happens in it, and how it is told and asked about."""
