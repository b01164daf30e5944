"""The core of the notification platform, shared by every Lambda function as a layer."""
