"""`python -m gpuwhy` is the command `gpuwhy`."""

from gpuwhy.tui.start import main

if __name__ == "__main__":
    main()
