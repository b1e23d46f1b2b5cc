"""Events, composition, calibration and the meter. Nothing heavy is imported until it is needed."""
