"""A real Triton Inference Server without a GPU: models whose cause of latency is known, and clients that provoke it."""
