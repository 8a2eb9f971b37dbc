"""gpuwhy: which GPU instance a job should run on, and why it is slow, out of memory or jittery."""

__version__ = "0.1.0"
