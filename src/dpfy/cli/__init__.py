"""The command line: parsing and printing. No privacy decisions."""
