"""One file a use case. The order of the steps is the guarantee: reserve, open, charge, draw, commit, gate, write."""
