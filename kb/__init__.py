"""Everything that reads knowledge: strict loading, schemas, the condition language, the fact vocabulary."""
