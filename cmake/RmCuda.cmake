# Finds the CUDA toolkit (12 or 13) when RM_CUDA asks for it (the `cuda` preset; `release` where the toolkit is).
# Compiles kernels for the L40S first (sm_89), then for the A100 and Hopper; CMAKE_CUDA_ARCHITECTURES may name fewer
# for a quick build. Sets RM_NVCC where a compiler exists, even without RM_CUDA: a test of every build compiles the
# kernels (kernels/cuda).
find_program(RM_NVCC nvcc HINTS ENV CUDACXX PATHS /usr/local/cuda/bin)
mark_as_advanced(RM_NVCC)
if(RM_CUDA STREQUAL "AUTO")
  find_package(CUDAToolkit 12 QUIET)
  set(RM_CUDA OFF)
  if(RM_NVCC AND CUDAToolkit_FOUND)
    set(RM_CUDA ON)
  endif()
  message(STATUS "CUDA: ${RM_CUDA}")
endif()
if(NOT RM_CUDA)
  return()
endif()
if(NOT RM_NVCC)
  message(FATAL_ERROR "RM_CUDA is on but no CUDA compiler was found; put nvcc on PATH or set CUDACXX")
endif()
if(NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER "${RM_NVCC}")
endif()
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 89 90a CACHE STRING "compute capabilities to compile for" FORCE)
endif()
# librm_cuda.so contains the libraries of kernels and base.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
enable_language(CUDA)
# Not CMAKE_CUDA_STANDARD: CMake 3.25 does not know that nvcc 12 accepts C++20.
string(APPEND CMAKE_CUDA_FLAGS " -std=c++20")
# The compiler of CUDA 12 is the first that accepts C++20.
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.0)
  message(FATAL_ERROR "CUDA ${CMAKE_CUDA_COMPILER_VERSION} at ${CMAKE_CUDA_COMPILER}; 12 or later is needed")
endif()
