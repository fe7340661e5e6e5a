"""The user spoke: give me context, now."""
