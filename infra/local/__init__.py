"""The real stack on this machine: an emulator of AWS, a simulator of the providers, and the ordinary CDK."""
