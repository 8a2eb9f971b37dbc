"""The commands `gpuwhy rules ...`, one module each."""
