# The CUDA toolkit, asked for by RM_CUDA (the `cuda` preset). Kernels are compiled for the L40S first (sm_89),
# and for the A100 and Hopper. There are no CUDA sources yet: the preset builds the CPU product and proves that
# the toolkit is found and accepts the project's language level.
if(NOT RM_CUDA)
  return()
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "RM_CUDA is on but no CUDA compiler was found; put nvcc on PATH or set CUDACXX")
endif()
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 89 90a)
endif()
set(CMAKE_CUDA_STANDARD 20)
enable_language(CUDA)
