"""The marginal generator: noisy low-order marginals, one clique tree, maximum-entropy estimation."""
