#include "engine/attention/host_kv.h"

#include <utility>

namespace rm {
namespace {

// Where a chunk of a block lies: store 0 is the own block's, store 1 has the others.
HopPlace place_of(const RingBuffers& buffers, const SequenceRuns& runs, int block,
                  std::size_t chunk) {
    TokenRange rows = runs.key_chunks[buffers.order.slot(block)][chunk].range;
    if (block == 0) return {0, rows};
    rows.first += (block - 1) * buffers.layout.slot_tokens;
    return {1, rows};
}

Visits key_visits(const RingBuffers& buffers, const SequenceRuns& runs) {
    return {runs.by_queries.size(), [&buffers, &runs](std::size_t i) {
                const std::size_t key = runs.by_queries[i].inner;
                const std::size_t chunks = runs.chunks_per_block();
                const HopPlace place =
                    place_of(buffers, runs, static_cast<int>(key / chunks), key % chunks);
                return Visit{place.rows, RowAccess::read, place.store};
            }};
}

// The order of the hops: step by step along the inner ring, chunk by chunk; beside every `inner`-th
// of them a chunk of the block that started the round moves along the outer ring.
struct GatherPlan {
    std::vector<HopMove> inner, outer;
    std::vector<bool> has_inner, has_outer;  // by message
};
GatherPlan plan_gather(const RingBuffers& buffers, const SequenceRuns& runs) {
    const RingOrder& order = buffers.order;
    const std::size_t chunks = runs.chunks_per_block();
    const auto move = [&](int from, int to, std::size_t chunk) {
        return HopMove{place_of(buffers, runs, from, chunk), place_of(buffers, runs, to, chunk)};
    };
    GatherPlan plan;
    for (int block = 0; block < order.num_blocks(); ++block) {
        const int start = block - order.step(block);
        const bool steps = order.step(block) + 1 < order.inner;
        const bool rounds = start + order.inner < order.num_blocks();
        for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
            const std::size_t turn = usize(order.step(block)) * chunks + chunk;
            const bool goes_out = rounds && turn % usize(order.inner) == 0;
            if (steps) plan.inner.push_back(move(block, block + 1, chunk));
            if (goes_out)
                plan.outer.push_back(move(start, start + order.inner, turn / usize(order.inner)));
            plan.has_inner.push_back(steps);
            plan.has_outer.push_back(goes_out);
        }
    }
    return plan;
}

void gather(RingBuffers& buffers, const std::vector<KeyValue*>& stores, GatherPlan plan) {
    Hops inner(buffers, buffers.inner_key(), stores, std::move(plan.inner));
    Hops outer(buffers, GroupKey::ring_outer, stores, std::move(plan.outer));
    for (std::size_t i = 0; i < plan.has_inner.size(); ++i) {
        Hops::Shifts shifts;
        if (plan.has_inner[i]) inner.open(shifts);
        if (plan.has_outer[i]) outer.open(shifts);
        buffers.streams.communicator.ring_shifts(std::move(shifts));
        if (plan.has_inner[i]) inner.close();
        if (plan.has_outer[i]) outer.close();
    }
}

KeyValue make_others(const RingBuffers& buffers) {
    const int others = buffers.layout.ring - 1;
    return others == 0 ? KeyValue{} : buffers.make_blocks(others);
}

// Returns the mark behind the last hop.
StreamOrder::Mark gather_others(RingBuffers& buffers, KeyValue& own, KeyValue& others,
                                const SequenceRuns& runs) {
    if (buffers.order.num_blocks() == 1) return {};
    gather(buffers, {&own, &others}, plan_gather(buffers, runs));
    return buffers.memory.record(buffers.hop_streams().to_host, Waiters::all);
}

}  // namespace

HostKv::HostKv(RingBuffers& buffers, KeyValue& own, const SequenceRuns& runs)
    : buffers_(buffers),
      runs_(runs),
      others_(make_others(buffers)),
      gathered_(gather_others(buffers, own, others_, runs)),
      k_(buffers.memory, {&own.k, &others_.k}, key_visits(buffers, runs),
         buffers.layout.max_slot_chunk),
      v_(buffers.memory, {&own.v, &others_.v}, key_visits(buffers, runs),
         buffers.layout.max_slot_chunk),
      windows_(buffers.memory, k_, v_) {}

// Compute sees only some of what has come; the stores are in use until all of it has.
HostKv::~HostKv() {
    buffers_.memory.wait_soon(gathered_);
}

KvBlock HostKv::next() {
    windows_.open();
    const std::size_t key = runs_.by_queries[pair_].inner;
    const std::size_t chunks = runs_.chunks_per_block();
    const std::size_t slot = buffers_.order.slot(static_cast<int>(key / chunks));
    return {k_.rows(), v_.rows(), runs_.key_chunks[slot][key % chunks].runs};
}

void HostKv::done() {
    windows_.close();
    ++pair_;
}

}  // namespace rm
