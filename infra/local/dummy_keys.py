"""What makes AWS's clients call in the name of nobody, and read none of a developer's settings."""

import os
from collections.abc import Mapping
from typing import Final

REGION: Final = "us-east-1"
DUMMY_KEYS: Final[Mapping[str, str]] = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": REGION,
    "AWS_REGION": REGION,
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}
