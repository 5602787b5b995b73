#include "engine/attention/kv_gradients.h"

#include <algorithm>
#include <utility>

namespace rm {
namespace {

std::size_t num_sums(const RingOrder& order) {
    if (order.num_blocks() == 1) return 1;
    return order.is_double() ? 5 : 3;
}

std::array<KeyValue, 5> make_sums(const RingBuffers& buffers) {
    std::array<KeyValue, 5> sums;
    for (std::size_t i = 0; i < num_sums(buffers.order); ++i)
        sums[i] = buffers.make_sum();
    return sums;
}

TokenWindow limited(StepMemory& memory, std::vector<TokenStore*> stores, std::vector<Visit> visits,
                    std::int64_t most_rows, std::size_t limit) {
    TokenWindow window(memory, std::move(stores), std::move(visits), most_rows);
    window.limit(limit);
    return window;
}

}  // namespace

KvGradients::Windows::Windows(StepMemory& memory, const std::vector<KeyValue*>& stores,
                              const std::vector<Visit>& visits, std::int64_t most_rows,
                              std::size_t first_limit)
    : k(limited(memory, keys_of(stores), visits, most_rows, first_limit)),
      v(limited(memory, values_of(stores), visits, most_rows, first_limit)),
      group(memory, k, v) {}

void KvGradients::Windows::limit(std::size_t visits) {
    k.limit(visits);
    v.limit(visits);
}

KvGradients::KvGradients(RingBuffers& buffers, const Ops& ops, KeyValue& own,
                         const SequenceRuns& runs)
    : buffers_(buffers),
      order_(buffers.order),
      ops_(ops),
      own_(own),
      runs_(runs),
      chunks_(runs.chunks_per_block()),
      roles_(roles()),
      places_(buffers.make_places()),
      sums_(make_sums(buffers)),
      block_hops_(buffers, buffers.inner_key(), block_stores(), block_moves()),
      outer_block_hops_(buffers, GroupKey::ring_outer, block_stores(), outer_block_moves()),
      sum_hops_(buffers, buffers.inner_key(), sum_stores(), sum_moves()),
      outer_sum_hops_(buffers, GroupKey::ring_outer, sum_stores(), outer_sum_moves()),
      blocks_(buffers.memory, block_stores(),
              visits(
                  RowAccess::read, [](int /*position*/) { return true; },
                  [this](int position) { return store_of(order_.backward(position)); }),
              buffers.most_rows(), order_.num_blocks() == 1 ? chunks_ : 0),
      shares_(buffers.memory, sum_stores(),
              visits(
                  RowAccess::write, [](int /*position*/) { return true; },
                  [this](int position) { return roles_[usize(position)].share; }),
              buffers.most_rows(), num_chunks()),
      arriving_(buffers.memory, sum_stores(),
                visits(
                    RowAccess::read, [this](int position) { return adds_inner(position); },
                    [this](int position) { return roles_[usize(position)].arriving; }),
                buffers.most_rows(), 0),
      outer_arriving_(buffers.memory, sum_stores(),
                      visits(
                          RowAccess::read, [this](int position) { return adds_outer(position); },
                          [this](int position) { return roles_[usize(position)].outer_arriving; }),
                      buffers.most_rows(), 0) {
    if (order_.num_blocks() > 1) start_first_hops();
}

// A share is sent next; the store sent last receives; what arrived takes the next share. The first
// store ends as the result, so that the stores' lives do not depend on the number of blocks.
std::vector<KvGradients::Roles> KvGradients::roles() const {
    std::vector<Roles> all(num_positions());
    for (std::size_t position = 1; position < all.size(); ++position) {
        const Roles before = all[position - 1];
        Roles& roles = all[position] = before;
        if (ends_round(static_cast<int>(position) - 1)) {
            std::swap(roles.outer_sent, roles.share);
        } else {
            roles.sent = before.share;
            roles.arriving = before.sent;
            roles.share = before.arriving;
        }
    }
    const std::size_t result = all.back().share;
    for (Roles& roles : all) {
        for (std::size_t* store : {&roles.share, &roles.sent, &roles.arriving, &roles.outer_sent,
                                   &roles.outer_arriving}) {
            if (*store == result) {
                *store = 0;
            } else if (*store == 0) {
                *store = result;
            }
        }
    }
    return all;
}

std::vector<KeyValue*> KvGradients::block_stores() {
    std::vector<KeyValue*> stores = {&own_};
    for (KeyValue& place : places_)
        stores.push_back(&place);
    return stores;
}

std::vector<KeyValue*> KvGradients::sum_stores() {
    std::vector<KeyValue*> stores;
    for (KeyValue& sum : sums_)
        stores.push_back(&sum);
    return stores;
}

TokenRange KvGradients::rows(int block, std::size_t chunk) const {
    return runs_.key_chunks[order_.slot(block)][chunk].range;
}

// The rows of a block that move along the outer ring beside a position's hops: chunks in windows,
// else a part of the block.
std::vector<TokenRange> KvGradients::outer_parts(int position, int block) const {
    const int num_parts = order_.inner - 1, index = place_in_round(position);
    if (!buffers_.on_host()) {
        const Part part = part_of(buffers_.layout.slot_tokens, num_parts, index);
        return {{part.first, part.count}};
    }
    const Part part = part_of(static_cast<std::int64_t>(chunks_), num_parts, index);
    std::vector<TokenRange> parts;
    for (std::int64_t i = part.first; i < part.first + part.count; ++i)
        parts.push_back(rows(block, usize(i)));
    return parts;
}

template <typename Wanted, typename Store>
std::vector<Visit> KvGradients::visits(RowAccess access, Wanted wanted, Store store) const {
    std::vector<Visit> list;
    for (int position = 0; position < order_.num_blocks(); ++position) {
        if (!wanted(position)) continue;
        for (std::size_t chunk = 0; chunk < chunks_; ++chunk)
            list.push_back({rows(order_.backward(position), chunk), access, store(position)});
    }
    return list;
}

// The block of the first position comes from the one that starts its round; each position's hops
// bring the block of the next.
std::vector<HopMove> KvGradients::block_moves() const {
    std::vector<HopMove> moves;
    const auto add = [&](int to) {
        for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
            moves.push_back(
                {{store_of(to - 1), rows(to - 1, chunk)}, {store_of(to), rows(to, chunk)}});
        }
    };
    if (order_.num_blocks() > 1) add(order_.backward(0));
    for (int position = 0; position < order_.num_blocks(); ++position) {
        if (brings(position)) add(order_.backward(position + 1));
    }
    return moves;
}

std::vector<HopMove> KvGradients::outer_block_moves() const {
    std::vector<HopMove> moves;
    const auto add = [&](int from, int to, const std::vector<TokenRange>& out,
                         const std::vector<TokenRange>& in) {
        for (std::size_t i = 0; i < out.size(); ++i)
            moves.push_back({{store_of(from), out[i]}, {store_of(to), in[i]}});
    };
    if (!order_.is_double()) return moves;
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk)
        add(0, order_.inner, {rows(0, chunk)}, {rows(order_.inner, chunk)});
    for (int position = 0; position < order_.num_blocks(); ++position) {
        const int from = (order_.round(position) + 1) * order_.inner, to = from + order_.inner;
        if (ends_round(position) || to >= order_.num_blocks()) continue;
        add(from, to, outer_parts(position, from), outer_parts(position, to));
    }
    return moves;
}

std::vector<HopMove> KvGradients::sum_moves() const {
    std::vector<HopMove> moves;
    for (int position = 0; position < order_.num_blocks(); ++position) {
        if (!adds_inner(position)) continue;
        const Roles& at = roles_[usize(position)];
        const int from = order_.backward(position - 1), to = order_.backward(position);
        for (std::size_t chunk = 0; chunk < chunks_; ++chunk)
            moves.push_back({{at.sent, rows(from, chunk)}, {at.arriving, rows(to, chunk)}});
    }
    return moves;
}

// The sum with which the last round ended, towards the rank that ends this round with it.
std::vector<HopMove> KvGradients::outer_sum_moves() const {
    std::vector<HopMove> moves;
    for (int position = order_.inner; position < order_.num_blocks(); ++position) {
        if (ends_round(position)) continue;
        const Roles& at = roles_[usize(position)];
        const int start = position - place_in_round(position);
        const auto out = outer_parts(position, order_.backward(start - 1));
        const auto in = outer_parts(position, order_.backward(start + order_.inner - 1));
        for (std::size_t i = 0; i < out.size(); ++i)
            moves.push_back({{at.outer_sent, out[i]}, {at.outer_arriving, in[i]}});
    }
    return moves;
}

// Sends moves of several rings together, one of each at a time.
void KvGradients::send(std::vector<std::pair<Hops*, std::size_t>> counts) {
    while (true) {
        Hops::Shifts shifts;
        std::vector<Hops*> open;
        for (auto& [hops, count] : counts) {
            if (count == 0) continue;
            --count;
            hops->open(shifts);
            open.push_back(hops);
        }
        if (open.empty()) return;
        buffers_.streams.communicator.ring_shifts(std::move(shifts));
        for (Hops* hops : open)
            hops->close();
    }
}

// Fetches the first block, after the block that starts its round. Compute has finished with the
// former contents of the buffers.
void KvGradients::start_first_hops() {
    if (!buffers_.on_host())
        buffers_.streams.order.follow(buffers_.streams.communication, ops_.stream(),
                                      *buffers_.own_ready);
    if (order_.is_double()) send({{&outer_block_hops_, chunks_}});
    send({{&block_hops_, chunks_}});
    buffers_.streams.order.record(buffers_.streams.communication, *buffers_.hops_over);
    blocks_.limit(chunks_);
}

// Starts the hops that a position's compute hides: the rest of the sum that this rank added to
// last, `sums` chunks, the block of the next position, and parts along the outer ring.
void KvGradients::start_hops(int position, std::size_t sums) {
    const int next_round = (order_.round(position) + 1) * order_.inner;
    const std::size_t parts =
        ends_round(position) ? 0 : outer_parts(position, order_.backward(position)).size();
    const bool moves_on = next_round + order_.inner < order_.num_blocks();
    send({{&sum_hops_, sums},
          {&block_hops_, brings(position) ? chunks_ : 0},
          {&outer_block_hops_, moves_on ? parts : 0},
          {&outer_sum_hops_, position >= order_.inner ? parts : 0}});
    buffers_.streams.order.record(buffers_.streams.communication, *buffers_.hops_over);
    num_sums_sent_ += sums;
    arriving_.limit(num_sums_sent_);
    blocks_.limit(usize(position + 2) * chunks_);
    if (place_in_round(position) + 2 == order_.inner && position >= order_.inner)
        outer_arriving_.limit(usize(order_.round(position)) * chunks_);
}

void KvGradients::wait_for_hops() {
    if (!buffers_.on_host())
        buffers_.streams.wait_exposed(*buffers_.hops_over, buffers_.exposed.backward);
}

KvGradBlock KvGradients::next() {
    RM_CHECK(chunk_ < num_chunks(), "chunk {} of {}", chunk_, num_chunks());
    if (chunk_ == 0 && order_.num_blocks() > 1) {
        wait_for_hops();
        start_hops(0, 0);
    }
    shares_.group.open();
    ops_(FillZero{shares_.k.rows()});
    ops_(FillZero{shares_.v.rows()});
    blocks_.group.open();
    const std::size_t slot = order_.slot(order_.backward(position()));
    return {{blocks_.k.rows(), blocks_.v.rows(), runs_.key_chunks[slot][chunk_in_block()].runs},
            shares_.k.rows(),
            shares_.v.rows()};
}

void KvGradients::add(Windows& arrived) {
    arrived.group.open();
    ops_(Add{arrived.k.rows(), shares_.k.rows()});
    ops_(Add{arrived.v.rows(), shares_.v.rows()});
    arrived.group.close();
}

// Adds the sum of the previous ranks to this rank's share and, at the end of a round, the sum of
// the previous rounds.
void KvGradients::done() {
    const int now = position();
    // If only outer-ring parts moved, compute does not need them yet.
    if (adds_inner(now) || brings(now)) wait_for_hops();
    if (adds_inner(now)) add(arriving_);
    if (adds_outer(now)) add(outer_arriving_);
    blocks_.group.close();
    shares_.group.close();
    ++chunk_;
    if (now + 1 == order_.num_blocks()) return;
    const bool sends = adds_inner(now + 1);
    if (position() == now) {
        if (sends) send_sum();
        return;
    }
    // Blocks come to places whose former contents compute has used; a sum on the host follows from
    // there.
    if (!sends || !buffers_.on_host())
        buffers_.streams.order.follow(buffers_.streams.communication, ops_.stream(),
                                      *buffers_.summed);
    start_hops(now + 1, sends ? 1 : 0);
}

void KvGradients::send_sum() {
    send({{&sum_hops_, 1}});
    arriving_.limit(++num_sums_sent_);
}

KeyValue KvGradients::finish() {
    RM_CHECK(chunk_ == num_chunks(), "finished after {} of {} chunks", chunk_, num_chunks());
    return std::move(sums_[0]);
}

}  // namespace rm
