"""The knowledge, as YAML only; read with `importlib.resources.files("gpuwhy.rules")`."""
