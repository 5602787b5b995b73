#include "engine/comm/collectives.h"

#include <algorithm>
#include <array>
#include <optional>

namespace rm {
namespace {

using ByteSpan = std::span<std::byte>;

constexpr Bytes kBroadcastPiece = Staging::kPiece;

// Consecutive elements of a tensor.
struct Part {
    std::int64_t first = 0;
    std::int64_t count = 0;
};

// Sizes differ by at most one element; the longer parts come first.
Part part_of(std::int64_t num_elements, int num_parts, int index) {
    const std::int64_t base = num_elements / num_parts;
    const std::int64_t longer = num_elements % num_parts;
    return {index * base + std::min<std::int64_t>(index, longer), base + (index < longer ? 1 : 0)};
}

// The part that is `steps` places behind `index` on the ring.
Part part_behind(const TensorView& x, const Group& group, int steps) {
    const int size = group.size();
    return part_of(x.num_elements(), size, ((group.index - steps) % size + size) % size);
}

TensorView view_of(const TensorView& x, const Part& part) {
    return x.reshaped({x.num_elements()}).rows(part.first, part.count);
}

// Piece `index` of a part, empty past its end.
Part piece_of(const Part& part, std::int64_t piece, std::int64_t index) {
    const std::int64_t offset = std::min(index * piece, part.count);
    return {part.first + offset, std::min(piece, part.count - offset)};
}

// Empty messages are not sent: both sides know the length.
std::optional<MessageHandle> send_some(Transport& transport, int to,
                                       std::span<const std::byte> bytes) {
    if (bytes.empty()) return std::nullopt;
    return transport.send(to, bytes);
}
std::optional<MessageHandle> recv_some(Transport& transport, int from, ByteSpan bytes) {
    if (bytes.empty()) return std::nullopt;
    return transport.recv(from, bytes);
}
void wait_some(Transport& transport, const std::optional<MessageHandle>& handle) {
    if (handle) transport.wait(*handle);
}

std::int64_t num_pieces(std::int64_t count, std::int64_t piece) {
    return count / piece + (count % piece == 0 ? 0 : 1);
}

// Sends one part of a tensor to the next rank while another arrives from the previous.
void shift_parts(Transport& transport, const Group& group, Staging& staging, const TensorView& out,
                 const TensorView& in) {
    const Part all_out{0, out.num_elements()}, all_in{0, in.num_elements()};
    const std::int64_t piece = staging.piece_elements(out);
    const std::int64_t count = num_pieces(std::max(all_out.count, all_in.count), piece);
    for (std::int64_t i = 0; i < count; ++i) {
        const TensorView target = view_of(in, piece_of(all_in, piece, i));
        const TensorView source = view_of(out, piece_of(all_out, piece, i));
        const auto arriving = recv_some(transport, group.previous(), staging.room(target, 0));
        const auto leaving = send_some(transport, group.next(), staging.load(source, 0));
        wait_some(transport, arriving);
        staging.store(target, 0);
        wait_some(transport, leaving);
    }
}

template <typename T>
void add_elements(T* sum, const T* terms, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        sum[i] += terms[i];
}

void add(const TensorView& x, const TensorView& terms) {
    const std::int64_t count = x.num_elements();
    switch (x.dtype()) {
        case DType::f64:
            return add_elements(x.as<double>(), terms.as<double>(), count);
        case DType::f32:
            return add_elements(x.as<float>(), terms.as<float>(), count);
        case DType::i32:
            return add_elements(x.as<std::int32_t>(), terms.as<std::int32_t>(), count);
        case DType::bf16:
            break;
    }
    RM_CHECK(false, "sums are formed in f32, f64 or i32, not in {}", to_string(x.dtype()));
}

// Sends one part to the next rank and adds the one that arrives from the previous.
void shift_and_add(Transport& transport, const Group& group, Staging& staging, const TensorView& x,
                   const Part& out, const Part& in, const TensorView& scratch) {
    const std::int64_t piece = std::min(scratch.num_elements() / 2, staging.piece_elements(x));
    std::array<std::optional<MessageHandle>, 2> arriving;  // one per half of the scratch
    const auto terms = [&](std::int64_t i) {
        return view_of(scratch, {(i % 2) * piece, piece_of(in, piece, i).count});
    };
    const auto receive = [&](std::int64_t i) {
        arriving[i % 2] = recv_some(transport, group.previous(), terms(i).bytes());
    };
    receive(0);
    const std::int64_t count = num_pieces(std::max(out.count, in.count), piece);
    for (std::int64_t i = 0; i < count; ++i) {
        const TensorView source = view_of(x, piece_of(out, piece, i));
        const TensorView target = view_of(x, piece_of(in, piece, i));
        const auto leaving = send_some(transport, group.next(), staging.load(source, 0));
        receive(i + 1);
        wait_some(transport, arriving[i % 2]);
        add(staging.open(target), terms(i));
        staging.close(target);
        wait_some(transport, leaving);
    }
}

// Passes the parts round the ring; this rank has the part `ahead` places ahead of its index.
void gather_parts(Transport& transport, const Group& group, Staging& staging, const TensorView& x,
                  int ahead) {
    for (int step = 0; step + 1 < group.size(); ++step) {
        shift_parts(transport, group, staging, view_of(x, part_behind(x, group, step - ahead)),
                    view_of(x, part_behind(x, group, step + 1 - ahead)));
    }
}

}  // namespace

Group make_group(std::vector<int> ranks, int rank) {
    const auto found = std::find(ranks.begin(), ranks.end(), rank);
    RM_CHECK(found != ranks.end(), "rank {} is not in its group of {} ranks", rank, ranks.size());
    const auto index = static_cast<int>(found - ranks.begin());
    return {std::move(ranks), index};
}

void ring_shift(Transport& transport, const Group& group, Staging& staging, const TensorView& out,
                const TensorView& in) {
    RM_CHECK(out.dtype() == in.dtype() && out.num_elements() == in.num_elements(),
             "ring_shift sends {} and receives {}", shape_string(out), shape_string(in));
    if (group.size() == 1) return;
    shift_parts(transport, group, staging, out, in);
}

std::int64_t all_reduce_scratch_elements(std::int64_t num_elements, int group_size) {
    return std::max<std::int64_t>(2, 2 * part_of(num_elements, group_size, 0).count);
}

void all_reduce_sum(Transport& transport, const Group& group, Staging& staging, const TensorView& x,
                    const TensorView& scratch) {
    if (group.size() == 1) return;
    RM_CHECK(scratch.dtype() == x.dtype() && scratch.num_elements() >= 2,
             "all_reduce_sum of {} has scratch {}; it takes two elements or more of the same dtype",
             shape_string(x), shape_string(scratch));
    for (int step = 0; step + 1 < group.size(); ++step) {
        shift_and_add(transport, group, staging, x, part_behind(x, group, step),
                      part_behind(x, group, step + 1), scratch);
    }
    // The last part this rank added to is the one after its own: that one is complete.
    gather_parts(transport, group, staging, x, 1);
}

void all_gather(Transport& transport, const Group& group, Staging& staging,
                const TensorView& whole) {
    gather_parts(transport, group, staging, whole, 0);
}

void broadcast(Transport& transport, const Group& group, Staging& staging, const TensorView& x,
               int root_index) {
    const int size = group.size();
    RM_CHECK(root_index >= 0 && root_index < size, "broadcast root {} is not in a group of {}",
             root_index, size);
    const int place = (group.index - root_index + size) % size;  // in the chain
    const bool last = place + 1 == size;
    const Part whole{0, x.num_elements()};
    const std::int64_t length = kBroadcastPiece.value / size_of(x.dtype());
    std::optional<MessageHandle> leaving;
    for (std::int64_t i = 0; i < num_pieces(whole.count, length); ++i) {
        const TensorView piece = view_of(x, piece_of(whole, length, i));
        const int slot = static_cast<int>(i % 2);
        const std::span<std::byte> room = staging.room(piece, slot);
        if (place > 0) {
            transport.wait(transport.recv(group.previous(), room));
            staging.store(piece, slot);
        }
        // The previous piece travels on while this one arrives.
        wait_some(transport, leaving);
        if (last) continue;
        const auto passed_on = place > 0 ? room : staging.load(piece, slot);
        leaving = transport.send(group.next(), passed_on);
    }
    wait_some(transport, leaving);
}

void barrier(Transport& transport, const Group& group) {
    // After step s a rank has heard, through its neighbours, from the s ranks behind it.
    std::array<std::byte, 2> tokens{};
    for (int step = 0; step + 1 < group.size(); ++step) {
        const auto arriving = transport.recv(group.previous(), ByteSpan(tokens).last(1));
        const auto leaving = transport.send(group.next(), ByteSpan(tokens).first(1));
        transport.wait(arriving);
        transport.wait(leaving);
    }
}

}  // namespace rm
