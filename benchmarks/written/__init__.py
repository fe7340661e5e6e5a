"""Diaries with what a model would write about each turn, and what the memory makes of it.

`diary` reads the files, `shown` finds the turns in a prompt, `good` and `sloppy` are the two models,
`server` puts them behind the product's own client, `play` runs a diary, `laws` and `questions` judge.
"""
