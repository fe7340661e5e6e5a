"""Ranking of candidates: fusion, priors, MaxSim, calibration, abstention."""
