"""What is done while nobody speaks: one file for each job."""
