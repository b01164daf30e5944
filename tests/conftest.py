"""What every test starts from: dummy keys, and none of the developer's settings."""

import os

from hypothesis import settings

CHOICES = {"NOTIFY_STACK"}  # a running stack for tests/local

for name in [name for name in os.environ if name.startswith(("AWS_", "NOTIFY_")) and name not in CHOICES]:
    del os.environ[name]
os.environ |= {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_REGION": "us-east-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}

settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if "CI" in os.environ else "dev")
