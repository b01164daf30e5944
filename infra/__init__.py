"""The platform as one CDK app, and the same app on this machine (`infra.local`)."""
