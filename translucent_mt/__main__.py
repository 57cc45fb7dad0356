"""`python -m translucent_mt` is `translucent`."""

from service.cli.main import main

if __name__ == "__main__":
    main()
