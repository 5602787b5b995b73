# What `cuda` and `emu` are both made of. Launchers: <name>.cu, compiled by nvcc for the one and as C++ for the
# other. The rest is plain C++.
set(device_launchers rmsnorm)
set(device_sources device_kernels.cc launch_log.cc linear.cc matmul.cc)
