"""Shared by the commands: global settings, arguments, output."""
