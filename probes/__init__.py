"""Everything that gathers facts: one parser per artefact format, and probes of machines."""
