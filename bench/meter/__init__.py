"""Counts what is asked of AWS, in the units that AWS charges for, and turns them into dollars."""
