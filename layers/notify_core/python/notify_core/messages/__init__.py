"""What crosses a wire, checked: from JSON to the domain's values, or to everything that is wrong with it.

The package itself imports nothing: who reads a JSON text, or serves a call without a body, does without pydantic.
"""
