#include "engine/comm/nccl/nccl_communicator.h"

#include <algorithm>
#include <thread>

#include "base/text.h"
#include "base/words.h"

namespace rm::nccl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Seconds kLook{0.02};
// A launch that takes longer waits for a peer inside NCCL; aborting is what ends it.
constexpr std::chrono::milliseconds kLaunchLimit{200};

std::int64_t now_nanos() {
    return Clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

int type_of(DType dtype) {
    switch (dtype) {
        case DType::f32:
            return kFloat32;
        case DType::f64:
            return kFloat64;
        case DType::bf16:
            return kBfloat16;
        case DType::u8:
            return kUint8;
        case DType::i32:
            break;
    }
    return kInt32;
}

// "rank 3", "ranks 1 and 3", "ranks 1, 3 and 5": the group's other ranks.
std::string others_in(const Group& group) {
    std::vector<std::string> names;
    for (const int rank : group.ranks) {
        if (rank != group.ranks[usize(group.index)]) names.push_back(std::to_string(rank));
    }
    const std::string last = names.back();
    names.pop_back();
    if (names.empty()) return "rank " + last;
    return format("ranks {} and {}", join(names, ", "), last);
}

// Shared with the thread that connects, which may outlive the wait for it.
struct Connecting {
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
    std::string with;  // the ranks to which it connects at the moment, with their group
    std::exception_ptr failure;
    std::vector<Comm> comms;
};

void connect(const Api& api, const std::vector<OwnGroup>& groups, Connecting& shared) {
    std::vector<Comm> comms;
    std::exception_ptr failure;
    try {
        for (const auto& [key, group, id] : groups) {
            const std::string with = format("{} ({})", others_in(group), to_string(key));
            {
                const std::lock_guard lock(shared.mutex);
                shared.with = with;
            }
            Comm comm = nullptr;
            const int code = api.CommInitRank(&comm, group.size(), id, group.index);
            check(api, code, "connecting to " + with);
            comms.push_back(comm);
        }
    } catch (...) {
        failure = std::current_exception();
    }
    const std::lock_guard lock(shared.mutex);
    shared.comms = std::move(comms);
    shared.failure = failure;
    shared.done = true;
    shared.ended.notify_all();
}

// Waits for `shared` until the deadline or a stop.
void await(Connecting& shared, Seconds timeout, const std::atomic<bool>* stop) {
    const auto deadline = Clock::now() + std::chrono::duration<double>(timeout.value);
    std::unique_lock lock(shared.mutex);
    while (!shared.done) {
        shared.ended.wait_for(lock, std::chrono::duration<double>(kLook.value));
        if (stop != nullptr && *stop) throw TransportError("asked to stop while NCCL connects");
        if (!shared.done && Clock::now() > deadline)
            throw TransportError(
                format("NCCL has not connected to {} within {}", shared.with, timeout));
    }
    if (shared.failure) std::rethrow_exception(shared.failure);
}

}  // namespace

Communicators::Communicators(const Api& api, std::vector<OwnGroup> groups, Seconds timeout,
                             const std::atomic<bool>* stop)
    : api_(api), groups_(std::move(groups)) {
    const auto shared = std::make_shared<Connecting>();
    std::thread([&api, all = groups_, shared] { connect(api, all, *shared); }).detach();
    await(*shared, timeout, stop);
    comms_ = shared->comms;
}

Communicators::~Communicators() {
    if (aborted_) return;
    for (const Comm comm : comms_)
        api_.CommDestroy(comm);
}

Comm Communicators::of(const Group& group) const {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        if (groups_[i].group.ranks == group.ranks) return comms_[i];
    }
    RM_CHECK(false, "no communicator for a group of {}", group.size());
}

Communicators::Launching::Launching(Communicators& all) : all_(all) {
    const std::lock_guard lock(all.mutex_);
    if (all.aborted_) throw TransportError(all.reason_);
    all.launching_ = true;
}

void Communicators::abort(const std::string& reason) {
    {
        const std::lock_guard lock(mutex_);
        if (aborted_) return;
        aborted_ = true;
        reason_ = reason;
        if (listener_) listener_(reason);
    }
    const auto deadline = Clock::now() + kLaunchLimit;
    while (launching_ && Clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (const Comm comm : comms_)
        api_.CommAbort(comm);
}

void Communicators::tell(std::function<void(const std::string&)> listener) {
    const std::lock_guard lock(mutex_);
    listener_ = std::move(listener);
}

std::string Communicators::asynchronous_error() {
    const std::lock_guard lock(mutex_);
    if (aborted_) return "";
    for (std::size_t i = 0; i < comms_.size(); ++i) {
        int code = kSuccess;
        if (api_.CommGetAsyncError(comms_[i], &code) != kSuccess) continue;
        if (code == kSuccess || code == kInProgress) continue;
        return format("NCCL fails among {} ({}): {}", others_in(groups_[i].group),
                      to_string(groups_[i].key), api_.GetErrorString(code));
    }
    return "";
}

NcclCommunicator::NcclCommunicator(const Api& api, Communicators& all, Device& device,
                                   Stream& stream, const Mesh& mesh, int rank,
                                   const std::atomic<double>& timeout_seconds,
                                   CommProgress& progress)
    : Communicator(rank, mesh),
      api_(api),
      all_(all),
      stream_(stream),
      timeout_seconds_(timeout_seconds),
      progress_(progress),
      token_(device, MemoryKind::communication, DType::i32, {1}),
      watch_([this](const std::stop_token&) {
          watch();
          return kLook;
      }) {
    device.zero(token_);
    all_.tell([this](const std::string& reason) {
        stream_.fail(comm_name(progress_.last), std::make_exception_ptr(TransportError(reason)));
    });
}

NcclCommunicator::~NcclCommunicator() {
    try {
        stream_.synchronize();
    } catch (const std::exception&) {
        // The error is sticky: the next caller that synchronizes sees it.
    }
    all_.tell(nullptr);
}

// NCCL cuts messages itself; for predictions each is one.
Communicator::Cutting NcclCommunicator::cutting() const {
    return {direct_, Bytes{std::numeric_limits<std::int64_t>::max()}};
}

void NcclCommunicator::enqueue(Collective collective) {
    const std::string& op = name(collective);
    const auto shared = std::make_shared<const Collective>(std::move(collective));
    stream_.call_host(op, [this, shared] { entered(*shared); });
    stream_.launch(
        {op, shared->reads, shared->writes, shared->sent},
        [this, shared](NativeStream native) { all_.guarded([&] { play(*shared, native); }); });
    stream_.call_host(op, [this, shared] { left(*shared); });
}

void NcclCommunicator::entered(const Collective& collective) {
    const Group& group = this->group(collective.key);
    const bool names_one = collective.op == CommOp::ring_shift || group.size() == 2;
    progress_.last = collective.id();
    progress_.waits_for = names_one ? 1 + group.previous() : 0;
    entered_group_ = collective.key;
    entered_nanos_ = now_nanos();
    ++progress_.entered;
    progress_.pulse.beat();
}

void NcclCommunicator::left(const Collective& collective) {
    waited_nanos_ += now_nanos() - entered_nanos_.exchange(0);
    progress_.waits_for = 0;
    if (collective.op == CommOp::ring_shift) {
        for (const auto& [key, out, in] : collective.shifts)
            count(key, CommOp::ring_shift, out.num_bytes().value);
    } else {
        count(collective.key, collective.op, collective.sent[0].bytes.value);
    }
    ++progress_.left;
    progress_.pulse.beat();
}

std::string NcclCommunicator::overdue() const {
    const std::int64_t since = entered_nanos_;
    const Seconds timeout{timeout_seconds_.load()};
    if (since == 0 || static_cast<double>(now_nanos() - since) * 1e-9 < timeout.value) return "";
    return format("{} with {} has not ended within {}", comm_name(progress_.last),
                  others_in(group(entered_group_)), timeout);
}

void NcclCommunicator::watch() {
    std::string reason = all_.asynchronous_error();
    if (reason.empty()) reason = overdue();
    if (!reason.empty()) all_.abort(reason);
}

void NcclCommunicator::end_group(std::string_view what) const {
    check(api_, api_.GroupEnd(), what);
}

void NcclCommunicator::play(const Collective& collective, NativeStream stream) const {
    const Group& group = this->group(collective.key);
    const Comm comm = all_.of(group);
    const TensorView& x = collective.x;
    const auto n = usize(x.num_elements());
    switch (collective.op) {
        case CommOp::ring_shift:
            return play_shifts(collective, stream);
        case CommOp::reduce_scatter_sum:
            return reduce_scatter(collective, stream);
        case CommOp::all_gather:
            return all_gather(collective, stream);
        case CommOp::all_to_all:
            return all_to_all(collective, stream);
        case CommOp::all_reduce_sum:
            return check(
                api_, api_.AllReduce(x.data(), x.data(), n, type_of(x.dtype()), kSum, comm, stream),
                "ncclAllReduce");
        case CommOp::broadcast:
            return check(api_,
                         api_.Broadcast(x.data(), x.data(), usize(x.num_bytes().value), kUint8,
                                        collective.root_index, comm, stream),
                         "ncclBroadcast");
        case CommOp::barrier:
            return check(
                api_, api_.AllReduce(token_->data(), token_->data(), 1, kInt32, kSum, comm, stream),
                "ncclAllReduce");
    }
}

// Both directions of all rings at once.
void NcclCommunicator::play_shifts(const Collective& collective, NativeStream stream) const {
    check(api_, api_.GroupStart(), "ncclGroupStart");
    for (const auto& [key, out, in] : collective.shifts) {
        const Group& ring = group(key);
        const int size = ring.size();
        const auto leaving = usize(out.num_bytes().value), arriving = usize(in.num_bytes().value);
        const Comm comm = all_.of(ring);
        check(api_, api_.Send(out.data(), leaving, kUint8, (ring.index + 1) % size, comm, stream),
              "ncclSend");
        check(api_,
              api_.Recv(in.data(), arriving, kUint8, (ring.index + size - 1) % size, comm, stream),
              "ncclRecv");
    }
    end_group("ring_shift");
}

// NCCL scatters equal parts only; parts of other sizes are reduced one by one.
void NcclCommunicator::reduce_scatter(const Collective& collective, NativeStream stream) const {
    const TensorView& x = collective.x;
    const Group& group = this->group(collective.key);
    const Comm comm = all_.of(group);
    const int type = type_of(x.dtype());
    auto* data = static_cast<std::byte*>(x.data());
    const auto at = [&](const Part& part) { return data + part.first * size_of(x.dtype()); };
    if (x.num_elements() % group.size() == 0) {
        const Part own = part_of(x.num_elements(), group.size(), group.index);
        return check(api_,
                     api_.ReduceScatter(data, at(own), usize(own.count), type, kSum, comm, stream),
                     "ncclReduceScatter");
    }
    check(api_, api_.GroupStart(), "ncclGroupStart");
    for (int root = 0; root < group.size(); ++root) {
        const Part part = part_of(x.num_elements(), group.size(), root);
        if (part.count == 0) continue;
        check(api_,
              api_.Reduce(at(part), at(part), usize(part.count), type, kSum, root, comm, stream),
              "ncclReduce");
    }
    end_group("reduce_scatter_sum");
}

// Likewise: parts of other sizes are broadcast one by one.
void NcclCommunicator::all_gather(const Collective& collective, NativeStream stream) const {
    const TensorView& x = collective.x;
    const Group& group = this->group(collective.key);
    const Comm comm = all_.of(group);
    const std::int64_t size = size_of(x.dtype());
    auto* data = static_cast<std::byte*>(x.data());
    const auto bytes = [&](const Part& part) { return usize(part.count * size); };
    if (x.num_elements() % group.size() == 0) {
        const Part own = part_of(x.num_elements(), group.size(), group.index);
        return check(
            api_, api_.AllGather(data + own.first * size, data, bytes(own), kUint8, comm, stream),
            "ncclAllGather");
    }
    check(api_, api_.GroupStart(), "ncclGroupStart");
    for (int root = 0; root < group.size(); ++root) {
        const Part part = part_of(x.num_elements(), group.size(), root);
        auto* at = data + part.first * size;
        if (part.count == 0) continue;
        check(api_, api_.Broadcast(at, at, bytes(part), kUint8, root, comm, stream),
              "ncclBroadcast");
    }
    end_group("all_gather");
}

void NcclCommunicator::all_to_all(const Collective& collective, NativeStream stream) const {
    const Group& group = this->group(collective.key);
    const Comm comm = all_.of(group);
    const auto block = usize(collective.x.num_bytes().value / group.size());
    const auto* out = static_cast<const std::byte*>(collective.x.data());
    auto* in = static_cast<std::byte*>(collective.in.data());
    check(api_, api_.GroupStart(), "ncclGroupStart");
    for (int peer = 0; peer < group.size(); ++peer) {
        if (peer == group.index) continue;
        const std::size_t offset = usize(peer) * block;
        check(api_, api_.Send(out + offset, block, kUint8, peer, comm, stream), "ncclSend");
        check(api_, api_.Recv(in + offset, block, kUint8, peer, comm, stream), "ncclRecv");
    }
    end_group("all_to_all");
}

}  // namespace rm::nccl
