"""What a producer and an operator do with the platform, as a demonstration."""
