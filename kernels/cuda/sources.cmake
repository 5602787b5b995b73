# The sources of both `cuda` and `emu`. Launchers: <name>.cu, compiled by nvcc for the one and as C++ for the
# other. The rest is plain C++.
set(device_launchers attention/attention attention/attention_bwd attention/attention_fwd
                     attention/attention_fwd_8bit
                     cross_entropy elementwise embedding fp8/block_cast fp8/block_product offload optimizer
                     pack parts quantize rmsnorm rope)
set(device_sources attention/attention_pick.cc attention/attention_runs.cc device_kernels.cc fp8_linear.cc launch_log.cc
                   linear.cc matmul/matmul.cc pick.cc)
