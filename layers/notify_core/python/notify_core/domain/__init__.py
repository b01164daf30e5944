"""What the platform decides, without I/O and without a clock."""
