"""One file = one job = prompt + reply type + options + step."""
