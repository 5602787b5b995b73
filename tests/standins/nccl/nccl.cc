// A library with NCCL's names for ranks without GPUs: processes or threads of one machine that
// exchange bytes through shared memory. Collectives run in the calling thread, because an emulated
// device's stream is a thread that plays one operation after another. The product cannot tell it
// from NCCL.
#include <time.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/bf16.h"
#include "tests/standins/nccl/channels.h"
#include "tests/standins/nccl/faults.h"

namespace standin {
namespace {

enum Code {
    kSuccess = 0,
    kSystemError = 2,
    kInternalError = 3,
    kInvalidArgument = 4,
    kRemoteError = 6
};
constexpr int kVersion = 22803;

thread_local std::string last_error;

int fail(Code code, std::string words) {
    last_error = std::move(words);
    return code;
}

}  // namespace
}  // namespace standin

struct ncclComm {
    ncclComm(const char* name, int num_ranks, int rank)
        : channels(name, num_ranks, rank), faults(num_ranks, rank) {}
    standin::Channels channels;
    standin::Faults faults;
    std::atomic<bool> aborted{false};
    std::atomic<int> error{0};
};

namespace standin {
namespace {

// A transfer of one pair, done in whatever pieces fit.
struct Transfer {
    ncclComm* comm;
    int peer;
    std::byte* data;
    std::size_t count;
    bool sends;
    std::size_t done = 0;

    bool step() {
        const std::size_t left = count - done;
        done += sends ? comm->channels.write(peer, data + done, left)
                      : comm->channels.read(peer, data + done, left);
        return done == count;
    }
};

void rest() {
    const timespec span{0, 50'000};
    ::nanosleep(&span, nullptr);
}

// All at once. False: aborted.
bool run(std::vector<Transfer> transfers) {
    while (true) {
        bool all = true, moved = false;
        for (Transfer& transfer : transfers) {
            if (transfer.comm->aborted) return false;
            const std::size_t before = transfer.done;
            all = transfer.step() && all;
            moved = moved || transfer.done != before;
        }
        if (all) return true;
        if (!moved) rest();
    }
}

int type_size(int type) {
    switch (type) {
        case 0:
        case 1:
            return 1;
        case 2:
        case 3:
        case 7:
            return 4;
        case 4:
        case 5:
        case 8:
            return 8;
        case 6:
        case 9:
            return 2;
        default:
            return 0;
    }
}

template <typename T>
void add(std::byte* to, const std::byte* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        T a, b;
        std::memcpy(&a, to + i * sizeof(T), sizeof(T));
        std::memcpy(&b, from + i * sizeof(T), sizeof(T));
        a = static_cast<T>(a + b);
        std::memcpy(to + i * sizeof(T), &a, sizeof(T));
    }
}
// In f32, rounded.
void add_bf16(std::byte* to, const std::byte* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        rm::Bf16 a, b;
        std::memcpy(&a, to + i * sizeof(a), sizeof(a));
        std::memcpy(&b, from + i * sizeof(b), sizeof(b));
        a = rm::to_bf16(rm::from_bf16(a) + rm::from_bf16(b));
        std::memcpy(to + i * sizeof(a), &a, sizeof(a));
    }
}
bool add_as(int type, std::byte* to, const std::byte* from, std::size_t count) {
    switch (type) {
        case 2:
            add<std::int32_t>(to, from, count);
            return true;
        case 7:
            add<float>(to, from, count);
            return true;
        case 8:
            add<double>(to, from, count);
            return true;
        case 9:
            add_bf16(to, from, count);
            return true;
        default:
            return false;
    }
}

// One call of the library; a group runs its calls when it ends.
struct Call {
    enum Kind { send, recv, all_reduce, reduce_scatter, all_gather, broadcast, reduce };
    Kind kind;
    ncclComm* comm;
    const std::byte* from;
    std::byte* into;
    std::size_t count;  // elements; of one rank where it scatters or gathers
    int type;
    int peer = 0;  // or root

    std::size_t bytes() const { return count * static_cast<std::size_t>(type_size(type)); }
    int size() const { return comm->channels.num_ranks(); }
    int rank() const { return comm->channels.rank(); }
    Transfer sending(int to, const std::byte* data, std::size_t size) const {
        return {comm, to, const_cast<std::byte*>(data), size, true};
    }
    Transfer receiving(int from_rank, std::byte* data, std::size_t size) const {
        return {comm, from_rank, data, size, false};
    }
};

// Ranks send their parts to the root, which adds them in the order of ranks.
bool run_reduce(const Call& call, const std::byte* from, std::byte* into, int root) {
    if (call.rank() != root) return run({call.sending(root, from, call.bytes())});
    std::vector<std::byte> sum(call.bytes()), part(call.bytes());
    for (int rank = 0; rank < call.size(); ++rank) {
        std::vector<std::byte>& here = rank == 0 ? sum : part;
        if (rank == root) {
            std::memcpy(here.data(), from, call.bytes());
        } else if (!run({call.receiving(rank, here.data(), call.bytes())})) {
            return false;
        }
        if (rank > 0 && !add_as(call.type, sum.data(), part.data(), call.count)) return false;
    }
    std::memcpy(into, sum.data(), call.bytes());
    return true;
}

bool run_broadcast(const Call& call, const std::byte* from, std::byte* into, int root) {
    if (call.rank() != root) return run({call.receiving(root, into, call.bytes())});
    std::vector<Transfer> all;
    for (int rank = 0; rank < call.size(); ++rank) {
        if (rank != root) all.push_back(call.sending(rank, from, call.bytes()));
    }
    if (into != from) std::memcpy(into, from, call.bytes());
    return run(std::move(all));
}

bool run_all_gather(const Call& call) {
    std::vector<Transfer> all;
    for (int rank = 0; rank < call.size(); ++rank) {
        std::byte* place = call.into + static_cast<std::size_t>(rank) * call.bytes();
        if (rank == call.rank()) {
            if (place != call.from) std::memcpy(place, call.from, call.bytes());
            continue;
        }
        all.push_back(call.sending(rank, call.from, call.bytes()));
        all.push_back(call.receiving(rank, place, call.bytes()));
    }
    return run(std::move(all));
}

bool run_reduce_scatter(const Call& call) {
    for (int root = 0; root < call.size(); ++root) {
        const std::byte* from = call.from + static_cast<std::size_t>(root) * call.bytes();
        if (!run_reduce(call, from, call.into, root)) return false;
    }
    return true;
}

bool run_collective(const Call& call) {
    switch (call.kind) {
        case Call::all_reduce:
            return run_reduce(call, call.from, call.into, 0) &&
                   run_broadcast(call, call.into, call.into, 0);
        case Call::reduce_scatter:
            return run_reduce_scatter(call);
        case Call::all_gather:
            return run_all_gather(call);
        case Call::broadcast:
            return run_broadcast(call, call.from, call.into, call.peer);
        case Call::reduce:
            return run_reduce(call, call.from, call.into, call.peer);
        default:
            return true;
    }
}

// Faults count the calls of one communicator. False: aborted while it stood still.
bool meet_faults(ncclComm& comm, std::size_t bytes) {
    const Meeting meeting = comm.faults.meet(bytes);
    for (double slept = 0; slept < meeting.seconds && !comm.aborted; slept += 0.001) {
        const timespec span{0, 1'000'000};
        ::nanosleep(&span, nullptr);
    }
    if (meeting.fails) comm.error = kRemoteError;
    while (meeting.absent && !comm.aborted)
        rest();
    return !comm.aborted;
}

// Sends and receives run together, then collectives one after another.
void run_all(const std::vector<Call>& calls) {
    std::vector<Transfer> transfers;
    for (const Call& call : calls) {
        if (!meet_faults(*call.comm, call.bytes())) return;
        if (call.kind == Call::send)
            transfers.push_back(call.sending(call.peer, call.from, call.bytes()));
        if (call.kind == Call::recv)
            transfers.push_back(call.receiving(call.peer, call.into, call.bytes()));
    }
    if (!run(std::move(transfers))) return;
    for (const Call& call : calls) {
        if (call.kind > Call::recv && !run_collective(call)) return;
    }
}

thread_local int group_depth = 0;
thread_local std::vector<Call> grouped;

int take(const Call& call) {
    if (call.comm == nullptr || type_size(call.type) == 0)
        return fail(kInvalidArgument, "no communicator, or an unknown type");
    if (group_depth > 0) {
        grouped.push_back(call);
    } else {
        run_all({call});
    }
    return kSuccess;
}

std::byte* bytes_of(void* data) {
    return static_cast<std::byte*>(data);
}
const std::byte* bytes_of(const void* data) {
    return static_cast<const std::byte*>(data);
}

}  // namespace
}  // namespace standin

using namespace standin;
using Stream = void*;
struct UniqueId {
    char name[128];
};
#define RM_EXPORT extern "C" __attribute__((visibility("default")))

RM_EXPORT int ncclGetVersion(int* version) {
    *version = kVersion;
    return kSuccess;
}

RM_EXPORT int ncclGetUniqueId(UniqueId* id) {
    char name[kNameLength] = {};
    if (!Channels::make(name)) return fail(kSystemError, "no shared memory");
    std::memset(id, 0, sizeof *id);
    std::memcpy(id->name, name, sizeof name);
    return kSuccess;
}

RM_EXPORT int ncclCommInitRank(ncclComm** comm, int num_ranks, UniqueId id, int rank) {
    auto made = std::make_unique<ncclComm>(id.name, num_ranks, rank);
    if (!made->channels.mapped()) return fail(kSystemError, "no shared memory of that name");
    if (made->faults.never_connects()) {
        while (true)
            rest();
    }
    made->channels.arrive();
    while (!made->channels.complete())
        rest();
    *comm = made.release();
    return kSuccess;
}

RM_EXPORT int ncclCommDestroy(ncclComm* comm) {
    delete comm;
    return kSuccess;
}

// The thread that stands in a collective leaves; its memory stays until the process ends.
RM_EXPORT int ncclCommAbort(ncclComm* comm) {
    static std::mutex mutex;
    static std::vector<ncclComm*>* const kept = new std::vector<ncclComm*>;
    comm->aborted = true;
    const std::lock_guard lock(mutex);
    kept->push_back(comm);
    return kSuccess;
}

RM_EXPORT int ncclCommGetAsyncError(ncclComm* comm, int* error) {
    *error = comm->error;
    return kSuccess;
}

RM_EXPORT const char* ncclGetErrorString(int code) {
    switch (code) {
        case kSuccess:
            return "no error";
        case kSystemError:
            return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
        case kInvalidArgument:
            return "invalid argument";
        case kRemoteError:
            return "remote process exited or there was a network error";
        default:
            return "internal error - please report this issue to the NCCL developers";
    }
}

RM_EXPORT const char* ncclGetLastError(ncclComm* /*comm*/) {
    return last_error.c_str();
}

RM_EXPORT int ncclGroupStart() {
    ++group_depth;
    return kSuccess;
}

RM_EXPORT int ncclGroupEnd() {
    if (--group_depth > 0) return kSuccess;
    const std::vector<Call> calls = std::move(grouped);
    grouped.clear();
    run_all(calls);
    return kSuccess;
}

RM_EXPORT int ncclSend(const void* from, std::size_t count, int type, int to, ncclComm* comm,
                       Stream) {
    return take({Call::send, comm, bytes_of(from), nullptr, count, type, to});
}

RM_EXPORT int ncclRecv(void* into, std::size_t count, int type, int from, ncclComm* comm, Stream) {
    return take({Call::recv, comm, nullptr, bytes_of(into), count, type, from});
}

RM_EXPORT int ncclAllReduce(const void* from, void* into, std::size_t count, int type, int /*sum*/,
                            ncclComm* comm, Stream) {
    return take({Call::all_reduce, comm, bytes_of(from), bytes_of(into), count, type});
}

RM_EXPORT int ncclReduceScatter(const void* from, void* into, std::size_t count, int type,
                                int /*sum*/, ncclComm* comm, Stream) {
    return take({Call::reduce_scatter, comm, bytes_of(from), bytes_of(into), count, type});
}

RM_EXPORT int ncclAllGather(const void* from, void* into, std::size_t count, int type,
                            ncclComm* comm, Stream) {
    return take({Call::all_gather, comm, bytes_of(from), bytes_of(into), count, type});
}

RM_EXPORT int ncclBroadcast(const void* from, void* into, std::size_t count, int type, int root,
                            ncclComm* comm, Stream) {
    return take({Call::broadcast, comm, bytes_of(from), bytes_of(into), count, type, root});
}

RM_EXPORT int ncclReduce(const void* from, void* into, std::size_t count, int type, int /*sum*/,
                         int root, ncclComm* comm, Stream) {
    return take({Call::reduce, comm, bytes_of(from), bytes_of(into), count, type, root});
}
