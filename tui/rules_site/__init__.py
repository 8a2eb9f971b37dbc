"""The rules as a static site: one page for each rule, fact, conclusion, reference and machine type, with search."""
