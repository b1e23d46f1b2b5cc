"""Side-by-side benchmarks of dpfy and its peers; `make bench` runs them."""
