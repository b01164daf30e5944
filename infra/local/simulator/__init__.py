"""The provider simulator: Slack, the SMS service and the OpenID issuer on one loopback port.

It speaks the providers' wire protocols, so the real SDKs are used unchanged, fails on request in every way
that matters, and keeps the ground truth: what really reached somebody, apart from what was answered.
"""
