"""The HTTP API: routes, the JSON of each resource, errors, cursors, and who may."""
