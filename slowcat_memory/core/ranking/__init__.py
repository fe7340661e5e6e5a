"""How are candidates ranked? Fusion, priors, MaxSim, calibration, abstention."""
