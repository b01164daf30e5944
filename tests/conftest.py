"""What every test starts from: dummy keys, and none of the developer's settings."""

import os

from hypothesis import settings

from infra.local.dummy_keys import DUMMY_KEYS

CHOICES = {"NOTIFY_STACK"}  # a running stack for tests/local

for name in [name for name in os.environ if name.startswith(("AWS_", "NOTIFY_")) and name not in CHOICES]:
    del os.environ[name]
os.environ |= DUMMY_KEYS

settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if "CI" in os.environ else "dev")
