"""Everything that reasons: derivations, proofs, conclusions, the next best question."""
