"""From scores to a ranking: fusion, priors, MaxSim, calibration, abstention."""
