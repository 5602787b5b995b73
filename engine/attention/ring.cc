#include "engine/attention/ring.h"

#include <algorithm>
#include <utility>

namespace rm {
namespace {

// Index (0 or 1) of the double buffer that holds the n-th block, counted from 1.
std::size_t turn(int n) {
    return usize((n - 1) % 2);
}

Visits hop_visits(const std::vector<HopMove>& moves, HopPlace HopMove::*side, RowAccess access) {
    return {moves.size(), [&moves, side, access](std::size_t i) {
                const HopPlace& place = moves[i].*side;
                return Visit{place.rows, access, place.store};
            }};
}

// Fetches nothing ahead: the rows of a later move may not have arrived yet. The host queues hops
// long before they run, so that costs no time.
TokenWindow outgoing(const RingBuffers& buffers, std::vector<TokenStore*> stores,
                     const std::vector<HopMove>& moves) {
    TokenWindow window(buffers.memory, std::move(stores),
                       hop_visits(moves, &HopMove::out, RowAccess::read), buffers.most_rows());
    window.limit(0);
    return window;
}
TokenWindow incoming(const RingBuffers& buffers, std::vector<TokenStore*> stores,
                     const std::vector<HopMove>& moves) {
    return {buffers.memory, std::move(stores), hop_visits(moves, &HopMove::in, RowAccess::write),
            buffers.most_rows()};
}

// The hops of a forward pass along the inner ring: every block moves on to the place of the next.
std::vector<HopMove> inner_moves(const RingBuffers& buffers) {
    const RingOrder& order = buffers.order;
    const TokenRange all{0, buffers.layout.slot_tokens};
    const auto store = [&](int block) { return block == 0 ? 0 : 1 + buffers.place(block); };
    std::vector<HopMove> moves;
    for (int block = 0; block < order.num_blocks(); ++block) {
        if (order.step(block) + 1 < order.inner)
            moves.push_back({{store(block), all}, {store(block + 1), all}});
    }
    return moves;
}

// And along the outer ring: what started a round, in parts, one beside each step.
std::vector<HopMove> outer_moves(const RingBuffers& buffers) {
    const RingOrder& order = buffers.order;
    const auto store = [&](int block) { return block == 0 ? 0 : 1 + buffers.place(block); };
    std::vector<HopMove> moves;
    for (int block = 0; block + order.inner < order.num_blocks(); ++block) {
        const int start = block - order.step(block);
        const Part part = part_of(buffers.layout.slot_tokens, order.inner, order.step(block));
        const TokenRange rows{part.first, part.count};
        moves.push_back({{store(start), rows}, {store(start + order.inner), rows}});
    }
    return moves;
}

std::vector<KeyValue*> with_places(KeyValue& own, RingBuffers::Places& places) {
    std::vector<KeyValue*> stores = {&own};
    for (KeyValue& place : places)
        stores.push_back(&place);
    return stores;
}

}  // namespace

RingBuffers::RingBuffers(const RankStreams& rank_streams, StepMemory& step_memory,
                         const RankLayout& rank_layout, std::int64_t num_kv_heads,
                         std::int64_t head_dim)
    : streams(rank_streams),
      memory(step_memory),
      layout(rank_layout),
      order(rank_layout.ring_order),
      num_kv_heads_(num_kv_heads),
      head_dim_(head_dim) {
    Device& device = memory.device();
    for (Events& events : events_)
        events = {device.make_event(), device.make_event()};
    for (auto* event : {&own_ready, &summed, &hops_over})
        *event = device.make_event();
    if (!on_host() || order.num_blocks() == 1) return;
    up_ = device.make_stream("ring-up");
    down_ = device.make_stream("ring-down");
    memory.add_mover(*up_);
    memory.add_mover(*down_);
}

// The next stage makes streams of its own.
RingBuffers::~RingBuffers() {
    for (const Stream* stream : {up_.get(), down_.get()}) {
        if (stream != nullptr) streams.order.forget(*stream);
    }
}

WindowStreams RingBuffers::hop_streams() const {
    Stream& up = up_ ? *up_ : streams.from_host;
    Stream& down = down_ ? *down_ : streams.to_host;
    return {streams.communication, streams.communication, up, down};
}

std::size_t RingBuffers::place(int block) const {
    const int step = order.step(block);
    return step > 0 ? turn(step) : 2 + turn(order.round(block));
}

KeyValue RingBuffers::make(std::string_view k, std::string_view v, DType dtype,
                           std::int64_t rows) const {
    const auto store = [&](std::string_view what) {
        TokenStore made = working_store(memory, {what}, dtype, {rows, num_kv_heads_, head_dim_});
        made.set_travels();
        return made;
    };
    KeyValue made;
    made.k = store(k);
    made.v = store(v);
    return made;
}

KeyValue RingBuffers::make_blocks(std::int64_t blocks) const {
    return make("ring k", "ring v", memory.types().compute, blocks * layout.slot_tokens);
}

RingBuffers::Places RingBuffers::make_places() const {
    Places places;
    for (int i = 0; i < std::min(2, order.inner - 1); ++i)
        places[usize(i)] = make_blocks(1);
    for (int i = 0; i < std::min(2, order.outer - 1); ++i)
        places[usize(2 + i)] = make_blocks(1);
    return places;
}

KeyValue RingBuffers::make_sum() const {
    return make("ring d_k", "ring d_v", memory.types().accum, layout.slot_tokens);
}

std::vector<TokenStore*> keys_of(const std::vector<KeyValue*>& stores) {
    std::vector<TokenStore*> keys;
    for (KeyValue* store : stores)
        keys.push_back(&store->k);
    return keys;
}
std::vector<TokenStore*> values_of(const std::vector<KeyValue*>& stores) {
    std::vector<TokenStore*> values;
    for (KeyValue* store : stores)
        values.push_back(&store->v);
    return values;
}

Hops::Hops(RingBuffers& buffers, GroupKey ring, const std::vector<KeyValue*>& stores,
           std::vector<HopMove> moves)
    : ring_(ring),
      moves_(std::move(moves)),
      out_k_(outgoing(buffers, keys_of(stores), moves_)),
      out_v_(outgoing(buffers, values_of(stores), moves_)),
      in_k_(incoming(buffers, keys_of(stores), moves_)),
      in_v_(incoming(buffers, values_of(stores), moves_)),
      windows_(buffers.memory, buffers.hop_streams(), out_k_, out_v_, in_k_, in_v_) {}

void Hops::open(Shifts& shifts) {
    for (TokenWindow* window : {&out_k_, &out_v_})
        window->limit(next_ + 1);
    windows_.open();
    const HopMove& move = moves_[next_++];
    shifts.push_back({ring_, out_k_.at(move.out.rows), in_k_.at(move.in.rows)});
    shifts.push_back({ring_, out_v_.at(move.out.rows), in_v_.at(move.in.rows)});
}

void Hops::close() {
    windows_.close();
}

RingKv::RingKv(RingBuffers& buffers, const Ops& ops, KeyValue& own, const SequenceRuns& runs)
    : buffers_(buffers),
      order_(buffers.order),
      ops_(ops),
      own_(own),
      runs_(runs),
      places_(buffers.make_places()),
      inner_(buffers, buffers.inner_key(), with_places(own, places_), inner_moves(buffers)),
      outer_(buffers, GroupKey::ring_outer, with_places(own, places_), outer_moves(buffers)) {
    buffers_.streams.order.record(ops_.stream(), *buffers_.own_ready);
}

// Waits until the block in this place has been used. Before the layer's first hop all are free.
void RingKv::wait_until_free(int block) {
    bool& is_used = is_used_[buffers_.place(block)];
    if (std::exchange(is_used, true))
        buffers_.streams.order.wait(buffers_.streams.communication,
                                    *buffers_.events(block).consumed);
}

// Starts the hops towards the next step of this round and towards the next round.
void RingKv::start_hops() {
    const int step = order_.step(block_);
    const int next_start = block_ - step + order_.inner;
    Hops::Shifts shifts;
    const bool steps = step + 1 < order_.inner;
    const bool rounds = next_start < order_.num_blocks();
    if (steps) {
        wait_until_free(block_ + 1);
        inner_.open(shifts);
    }
    if (rounds) {
        if (step == 0) wait_until_free(next_start);
        outer_.open(shifts);
    }
    buffers_.streams.communicator.ring_shifts(std::move(shifts));
    if (steps) inner_.close();
    if (rounds) outer_.close();
    // The next round's first block is complete when its last part arrives.
    if (block_ + 1 < order_.num_blocks())
        buffers_.streams.order.record(buffers_.streams.communication,
                                      *buffers_.events(block_ + 1).arrived);
}

KvBlock RingKv::next() {
    RM_CHECK(block_ < order_.num_blocks(), "block {} of a ring of {}", block_, order_.num_blocks());
    if (order_.num_blocks() > 1) move_on();
    KeyValue& kv = store(block_);
    return {kv.k.whole(), kv.v.whole(), runs_.by_slot[order_.slot(block_)]};
}

// Waits for the current block and sends on what other ranks need.
void RingKv::move_on() {
    if (block_ == 0) {
        buffers_.streams.order.wait(buffers_.streams.communication, *buffers_.own_ready);
    } else {
        buffers_.streams.wait_exposed(*buffers_.events(block_).arrived, buffers_.exposed.forward);
    }
    start_hops();
}

void RingKv::done() {
    if (block_ > 0) buffers_.streams.order.record(ops_.stream(), *buffers_.events(block_).consumed);
    ++block_;
}

}  // namespace rm
