"""`python -m dpfy` is the command."""

from dpfy.cli.main import run

run()
