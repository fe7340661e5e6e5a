"""Copies of one store on several machines: what to send, and how another copy is made of it."""
