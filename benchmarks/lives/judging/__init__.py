"""Judging what a memory showed by what was true."""
