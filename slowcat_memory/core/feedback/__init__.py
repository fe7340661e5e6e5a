"""What reactions and judged queries say about earlier recalls."""
