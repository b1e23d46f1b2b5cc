"""The arguments that every adapter takes."""

from __future__ import annotations

import argparse
from pathlib import Path


def parse_arguments(about: str | None, mechanisms: tuple[str, ...]) -> argparse.Namespace:
    """--train, --domain, --out, --rows, --epsilon, --delta, --mechanism, --binning-epsilon."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--domain", type=Path, required=True, help="JSON file in domains/")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--epsilon", type=float, required=True, help="for the mechanism itself")
    parser.add_argument("--binning-epsilon", type=float, default=0.0, help="on top, for bins (peers that find them)")
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--mechanism", choices=mechanisms, default=mechanisms[0])
    return parser.parse_args()
