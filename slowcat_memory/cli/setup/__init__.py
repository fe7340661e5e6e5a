"""Commands that set up and check an installation: init, config, doctor."""
