"""What a processor says of itself: in the log, in metrics, in traces, and to Pipecat's clients."""
