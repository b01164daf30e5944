"""What the platform costs and how fast it is: a meter, benchmarks, and a year on paper."""
