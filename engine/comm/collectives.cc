#include "engine/comm/collectives.h"

#include <algorithm>
#include <array>
#include <optional>

#include "kernels/bf16.h"

namespace rm {
namespace {

using ByteSpan = std::span<std::byte>;

// The part whose index is `steps` behind this rank's.
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

// Sends `out` to one rank and receives `in` from another.
struct Leg {
    int to = 0;
    int from = 0;
    TensorView out;
    TensorView in;
};

// Runs legs at once, at most as many as the staging has slots, each in pieces. A rank waits only
// after it has posted its piece of every leg: ranks that list their legs in the same order never
// wait for each other in a cycle.
class Exchange {
public:
    Exchange(Transport& transport, Staging& staging, std::span<const Leg> legs)
        : transport_(transport), staging_(staging), legs_(legs), messages_(legs.size()) {}

    void run() {
        std::int64_t count = 0;
        for (const Leg& leg : legs_) {
            const std::int64_t longer = std::max(leg.out.num_elements(), leg.in.num_elements());
            count = std::max(count, num_pieces(longer, staging_.piece_elements(leg.out)));
        }
        for (std::int64_t i = 0; i < count; ++i)
            exchange_piece(i);
    }

private:
    struct Messages {
        std::optional<MessageHandle> arriving;
        std::optional<MessageHandle> leaving;
    };

    TensorView piece(const TensorView& x, std::int64_t index) const {
        return view_of(x, piece_of({0, x.num_elements()}, staging_.piece_elements(x), index));
    }

    void exchange_piece(std::int64_t index) {
        for (std::size_t i = 0; i < legs_.size(); ++i) {
            const auto room = staging_.room(piece(legs_[i].in, index), static_cast<int>(i));
            messages_[i].arriving = recv_some(transport_, legs_[i].from, room);
        }
        for (std::size_t i = 0; i < legs_.size(); ++i) {
            const auto bytes = staging_.load(piece(legs_[i].out, index), static_cast<int>(i));
            messages_[i].leaving = send_some(transport_, legs_[i].to, bytes);
        }
        for (std::size_t i = 0; i < legs_.size(); ++i) {
            wait_some(transport_, messages_[i].arriving);
            staging_.store(piece(legs_[i].in, index), static_cast<int>(i));
        }
        for (const Messages& messages : messages_)
            wait_some(transport_, messages.leaving);
    }

    Transport& transport_;
    Staging& staging_;
    std::span<const Leg> legs_;
    std::vector<Messages> messages_;
};

// Runs as many legs at once as the staging has slots.
void exchange(Transport& transport, Staging& staging, std::span<const Leg> legs) {
    const std::size_t at_once = staging.num_slots();
    for (std::size_t i = 0; i < legs.size(); i += at_once) {
        const std::size_t count = std::min(at_once, legs.size() - i);
        Exchange(transport, staging, legs.subspan(i, count)).run();
    }
}

template <typename T>
void add_elements(T* sum, const T* terms, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        sum[i] += terms[i];
}

void add_elements(Bf16* sum, const Bf16* terms, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        sum[i] = to_bf16(from_bf16(sum[i]) + from_bf16(terms[i]));
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
            return add_elements(x.as<Bf16>(), terms.as<Bf16>(), count);
        case DType::u8:
            break;
    }
    RM_CHECK(false, "codes have no sums");
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

// The rank `steps` places ahead on the ring; negative: behind.
int rank_ahead(const Group& group, int steps) {
    const int size = group.size();
    return group.ranks[usize(((group.index + steps) % size + size) % size)];
}

}  // namespace

Group make_group(std::vector<int> ranks, int rank) {
    const auto found = std::find(ranks.begin(), ranks.end(), rank);
    RM_CHECK(found != ranks.end(), "rank {} is not in its group of {} ranks", rank, ranks.size());
    const auto index = static_cast<int>(found - ranks.begin());
    return {std::move(ranks), index};
}

Part part_of(std::int64_t num_elements, int num_parts, int index) {
    const std::int64_t base = num_elements / num_parts;
    const std::int64_t longer = num_elements % num_parts;
    return {index * base + std::min<std::int64_t>(index, longer), base + (index < longer ? 1 : 0)};
}

std::int64_t num_pieces(std::int64_t count, std::int64_t piece) {
    return count / piece + (count % piece == 0 ? 0 : 1);
}

void ring_shifts(Transport& transport, Staging& staging, std::span<const RingShift> shifts) {
    std::vector<Leg> legs;
    for (const auto& [group, out, in] : shifts) {
        RM_CHECK(out.dtype() == in.dtype(), "ring_shift sends {} and receives {}",
                 shape_string(out), shape_string(in));
        if (group.size() > 1) legs.push_back({group.next(), group.previous(), out, in});
    }
    exchange(transport, staging, legs);
}

void reduce_scatter_sum(Transport& transport, const Group& group, Staging& staging,
                        const TensorView& x, const TensorView& scratch) {
    if (group.size() == 1) return;
    RM_CHECK(scratch.dtype() == x.dtype() && scratch.num_elements() >= 2,
             "the sum of {} has scratch {}; it takes two elements or more of the same dtype",
             shape_string(x), shape_string(scratch));
    // A part's sum starts at the rank after its owner, so that it reaches the owner last.
    for (int step = 1; step < group.size(); ++step) {
        shift_and_add(transport, group, staging, x, part_behind(x, group, step),
                      part_behind(x, group, step + 1), scratch);
    }
}

void all_reduce_sum(Transport& transport, const Group& group, Staging& staging, const TensorView& x,
                    const TensorView& scratch) {
    reduce_scatter_sum(transport, group, staging, x, scratch);
    all_gather(transport, group, staging, x);
}

void all_gather(Transport& transport, const Group& group, Staging& staging,
                const TensorView& whole) {
    for (int step = 0; step + 1 < group.size(); ++step) {
        const std::array<Leg, 1> leg = {
            {{group.next(), group.previous(), view_of(whole, part_behind(whole, group, step)),
              view_of(whole, part_behind(whole, group, step + 1))}}};
        exchange(transport, staging, leg);
    }
}

void all_to_all(Transport& transport, const Group& group, Staging& staging, const TensorView& out,
                const TensorView& in) {
    const int size = group.size();
    RM_CHECK(out.dtype() == in.dtype() && out.num_elements() == in.num_elements() &&
                 out.num_elements() % size == 0,
             "all_to_all sends {} and receives {}; both are {} equal blocks", shape_string(out),
             shape_string(in), size);
    const auto block = [&](const TensorView& x, int steps) {
        return view_of(x, part_behind(x, group, -steps));
    };
    std::vector<Leg> legs;
    for (int step = 1; step < size; ++step) {
        legs.push_back({rank_ahead(group, step), rank_ahead(group, -step), block(out, step),
                        block(in, -step)});
    }
    exchange(transport, staging, legs);
}

void broadcast(Transport& transport, const Group& group, Staging& staging, const TensorView& x,
               int root_index) {
    const int size = group.size();
    RM_CHECK(root_index >= 0 && root_index < size, "broadcast root {} is not in a group of {}",
             root_index, size);
    const int place = (group.index - root_index + size) % size;  // in the chain
    const bool last = place + 1 == size;
    const Part whole{0, x.num_elements()};
    const std::int64_t length = Staging::kPiece.value / size_of(x.dtype());
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
