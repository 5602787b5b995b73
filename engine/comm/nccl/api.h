#pragma once

#include <cstddef>

#include "base/result.h"

// The part of NCCL that ranks use, as declared by NCCL 2.18 and later (nccl.h), with names of our
// own: the build needs no CUDA toolkit, and the library is opened at run time.
namespace rm::nccl {

using Comm = struct ncclComm*;
struct UniqueId {
    char bytes[128];
};
// ncclResult_t, ncclDataType_t, ncclRedOp_t.
enum Code : int { kSuccess = 0, kInProgress = 7 };
enum DataType : int { kInt32 = 2, kUint8 = 1, kFloat32 = 7, kFloat64 = 8, kBfloat16 = 9 };
constexpr int kSum = 0;
using NativeStream = void*;  // cudaStream_t

// 22803 is NCCL 2.28.3.
constexpr int kOldestVersion = 21800;

struct Api {
    int version = 0;
    int (*GetUniqueId)(UniqueId* id);
    int (*CommInitRank)(Comm* comm, int num_ranks, UniqueId id, int rank);
    int (*CommDestroy)(Comm comm);
    int (*CommAbort)(Comm comm);
    int (*CommGetAsyncError)(Comm comm, int* error);
    const char* (*GetErrorString)(int code);
    const char* (*GetLastError)(Comm comm);
    int (*GroupStart)();
    int (*GroupEnd)();
    int (*Send)(const void* from, std::size_t count, int type, int to, Comm, NativeStream);
    int (*Recv)(void* into, std::size_t count, int type, int from, Comm, NativeStream);
    int (*AllReduce)(const void* from, void* into, std::size_t count, int type, int sum, Comm,
                     NativeStream);
    int (*ReduceScatter)(const void* from, void* into, std::size_t count_of_one, int type, int sum,
                         Comm, NativeStream);
    int (*AllGather)(const void* from, void* into, std::size_t count_of_one, int type, Comm,
                     NativeStream);
    int (*Broadcast)(const void* from, void* into, std::size_t count, int type, int root, Comm,
                     NativeStream);
    int (*Reduce)(const void* from, void* into, std::size_t count, int type, int sum, int root,
                  Comm, NativeStream);
};

// Opens libnccl.so.2 on the first call; it stays open. `unavailable`: the library is missing, too
// old, or lacks a function.
Result<const Api*> open();

// "2.28.3"
std::string version_text(int version);

}  // namespace rm::nccl
