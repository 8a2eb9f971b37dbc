"""Rules of the pack as recording and alert rules of Prometheus."""
