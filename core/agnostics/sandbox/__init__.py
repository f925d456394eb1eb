"""The sandbox: a pool of warm slots, each holding one resident harness that compiles, runs and judges programs."""
