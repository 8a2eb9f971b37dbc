"""One screen a module, each with its style sheet beside it."""
