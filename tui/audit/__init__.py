"""The audit of a fleet: what it found, and its reports."""
