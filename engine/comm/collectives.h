#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/comm/staging.h"
#include "engine/comm/transport/transport.h"
#include "kernels/tensor.h"

// Collectives, written once over Transport. Blocking: called inside the communication stream (see
// communicator.h for the queued form). Ring order is group order; sums are formed in the tensor's
// dtype along the ring (of bf16 in f32, rounded at each rank), so every transport gives the same
// bits and every rank of the group ends with the same bits. A group of one moves nothing. With G
// ranks and n bytes, each rank sends:
//   ring_shift n, all_gather (G-1) n (n = its own part), all_reduce 2 (G-1) n/G and reduce_scatter
//   (G-1) n/G (parts differ by one element when G does not divide), all_to_all (G-1) n/G, broadcast
//   n along the chain, the last rank 0, barrier G-1.
// docs/communication.md has the exact formulas. `staging` says how the tensors' memory is reached
// and changes no bit. Failures are the transport's: TransportError.
namespace rm {

// Ranks of one mesh group and this rank's place among them.
struct Group {
    std::vector<int> ranks;
    int index = 0;  // ranks[index] is this rank
    int size() const { return static_cast<int>(ranks.size()); }
    int next() const { return ranks[usize((index + 1) % size())]; }
    int previous() const { return ranks[usize((index + size() - 1) % size())]; }
};
Group make_group(std::vector<int> ranks, int rank);

// Sends `out` to the next rank of the ring while receiving `in` from the previous one; both have
// the same number of bytes on all ranks and do not overlap. A group of one leaves `in` as it is.
// Shifts of several rings run at once, each at the speed of its own links. All ranks list them in
// the same order.
struct RingShift {
    const Group& group;
    TensorView out;
    TensorView in;
};
void ring_shifts(Transport& transport, Staging& staging, std::span<const RingShift> shifts);

// Ring reduce-scatter, then all-gather, over G parts of x. Part p is summed from the rank after p
// onwards and ends with p: ((x_{p+1} + x_{p+2}) + ...) + x_p. A part travels in pieces of half the
// scratch: one arrives while the other is added. `scratch`: host memory of x's dtype, two elements
// at least, as many on every rank; its size changes no bit. More than two parts are not used.
void all_reduce_sum(Transport& transport, const Group& group, Staging& staging, const TensorView& x,
                    const TensorView& scratch);

// The first half of all_reduce_sum, with the same bits: the part of this rank's index becomes the
// sum; the others hold partial sums.
void reduce_scatter_sum(Transport& transport, const Group& group, Staging& staging,
                        const TensorView& x, const TensorView& scratch);

// Elements [first, first + count) of `num_elements` are part `index` of `num_parts`: sizes differ
// by at most one element, the longer parts come first.
struct Part {
    std::int64_t first = 0;
    std::int64_t count = 0;
};
Part part_of(std::int64_t num_elements, int num_parts, int index);
// How many pieces a part of `count` elements is cut into.
std::int64_t num_pieces(std::int64_t count, std::int64_t piece);

// `out` and `in` are G equal blocks: block i of `out` goes to the group's rank i, and block i of
// `in` comes from it. This rank's own block of `in` is left as it is: the caller puts it there.
// Directly between all pairs.
void all_to_all(Transport& transport, const Group& group, Staging& staging, const TensorView& out,
                const TensorView& in);

// Passes the G parts of `whole`, cut as in all_reduce_sum, round the ring; the part of this rank's
// index is in place.
void all_gather(Transport& transport, const Group& group, Staging& staging,
                const TensorView& whole);

// From group.ranks[root_index] to all, along the ring in pieces.
void broadcast(Transport& transport, const Group& group, Staging& staging, const TensorView& x,
               int root_index);

// Returns when every rank of the group has entered.
void barrier(Transport& transport, const Group& group);

}  // namespace rm
