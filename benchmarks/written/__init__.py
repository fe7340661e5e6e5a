"""Diaries with what a model would write about each turn, and what the memory makes of it.

`diary` reads the files, `shown` finds the turns in a prompt, `good` and `sloppy` are the two models,
`play` runs a diary with one of them, `found` looks up what became of its items, `laws` judges.
"""
