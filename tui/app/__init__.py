"""The guided diagnosis: a Textual application over the same session, engine and words as the command line."""
