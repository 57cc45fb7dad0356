"""What has to be known about a machine with an NVIDIA GPU: that the GPU computes the same, and how fast it is."""
