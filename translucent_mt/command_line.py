"""The program `translucent`: the same command line in a checkout and in an installed wheel."""

from service.cli.main import main as main
