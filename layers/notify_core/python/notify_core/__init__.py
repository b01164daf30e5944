"""The core of the notification platform, shared by every Lambda function as a layer."""

import gc

gc.set_threshold(20_000)
"""Garbage is looked for after so many new objects, and not after 700. It is said before anything else is imported: a
start makes objects that stay, and looking through them again and again is a twentieth of it."""
