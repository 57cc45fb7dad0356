"""`python -m translucent_mt` is `translucent`."""

from translucent_mt.command_line import main

if __name__ == "__main__":
    main()
