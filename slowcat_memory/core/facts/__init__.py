"""Facts: extraction, stored form, and merging with known facts."""
