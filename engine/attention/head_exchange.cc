#include "engine/attention/head_exchange.h"

#include <algorithm>
#include <utility>

namespace rm {
namespace {

constexpr bool packs_alike(std::int64_t numbers) {
    return row_bytes(MessageNumbers::fp8, numbers, 2) == 4 * packed_words(numbers);
}
static_assert(packs_alike(128) && packs_alike(129) && packs_alike(130) && packs_alike(131));

// (rows, heads) as (rows, heads, 1)
TensorView with_heads(const TensorView& rows) {
    return rows.rank() == 3 ? rows : rows.reshaped({rows.dim(0), rows.dim(1), 1});
}

std::vector<Visit> tile_visits(const RankLayout& layout, RowAccess access) {
    std::vector<Visit> list;
    for (const Chunk& chunk : layout.chunks) {
        for (const Tile& tile : chunk)
            list.push_back({layout.slot_rows(tile.range), access});
    }
    return list;
}

}  // namespace

HeadExchange::HeadExchange(const RankStreams& streams, StepMemory& memory, const ModelConfig& model,
                           const RankLayout& layout, const RankShapes& shapes,
                           MessageNumbers numbers)
    : streams_(streams),
      memory_(memory),
      layout_(layout),
      max_tile_(shapes.tile),
      numbers_(numbers) {
    const std::int64_t group = model.num_query_heads / model.num_kv_heads;
    const HeadShare heads = head_share(model, layout.tensor, layout.tensor_index);
    const std::int64_t run = shapes.attended_q / shapes.attended_kv;
    for (int rank = 0; rank < size(); ++rank) {
        const std::int64_t first = rank * shapes.attended_q;
        queries_.push_back({{first, 0, shapes.attended_q}});
        std::vector<HeadRun>& used = kv_.emplace_back();
        for (std::int64_t i = 0; i < shapes.attended_kv; ++i) {
            const std::int64_t query = heads.q_first + first + i * run;
            used.push_back({query / group - heads.kv_first, i, 1});
            if (used.back().here != i) same_kv_heads_ = false;
        }
    }
    if (shapes.attended_kv != shapes.Hk) same_kv_heads_ = false;
    for (auto* events : {&ready_, &arrived_}) {
        for (std::unique_ptr<Event>& event : *events)
            event = memory.device().make_event();
    }
}

// Block `rank` of a tensor that holds the tile of every ulysses rank in turn.
TensorView HeadExchange::block(const TensorView& blocks, int rank) const {
    const std::int64_t rows = blocks.dim(0) / size();
    return with_heads(blocks.rows(rank * rows, rows));
}

// Cuts tokens by heads into a block for each rank; this rank's block goes to `own` directly.
void HeadExchange::scatter(const Ops& ops, const HeadRuns& runs, const TensorView& tokens,
                           const TensorView& send, const TensorView& own) const {
    const int index = layout_.ulysses_index;
    for (int rank = 0; rank < size(); ++rank) {
        const TensorView target = block(rank == index ? own : send, rank);
        for (const HeadRun& run : runs[usize(rank)])
            ops(CopyHeads{with_heads(tokens), target, run.here, run.attended, run.count});
    }
}

// The reverse: brings the heads of these tokens together from the blocks of all ranks.
void HeadExchange::gather(const Ops& ops, const HeadRuns& runs, const TensorView& own,
                          const TensorView& received, const TensorView& tokens, Into into) const {
    if (into == Into::add) ops(FillZero{tokens});
    for (int rank = 0; rank < size(); ++rank) {
        const TensorView source = block(rank == layout_.ulysses_index ? own : received, rank);
        for (const HeadRun& run : runs[usize(rank)])
            ops(CopyHeads{source, tokens, run.attended, run.here, run.count, into});
    }
}

TokenWindow HeadExchange::window(TokenStore& attended, RowAccess access, int open_at_once) const {
    return {memory_, attended, tile_visits(layout_, access), max_tile_ * size(),
            usize(open_at_once)};
}

// A block for each rank.
ArenaTensor HeadExchange::blocks(const TokenStore& attended, DType dtype) const {
    const TensorView& whole = attended.shape();
    const std::int64_t rows = max_tile_ * size();
    if (whole.rank() == 2) return memory_.on_device({"ulysses"}, dtype, {rows, whole.dim(1)});
    return memory_.on_device({"ulysses"}, dtype, {rows, whole.dim(1), whole.dim(2)});
}

// Rows of heads: softmax statistics travel as they are.
bool HeadExchange::rounds(const TokenStore& attended) const {
    return moves() && numbers_ == MessageNumbers::fp8 && attended.shape().rank() == 3;
}

bool HeadExchange::rounds_any(std::initializer_list<AttendedRows> tensors) const {
    return std::ranges::any_of(
        tensors, [this](const AttendedRows& tensor) { return rounds(*tensor.store); });
}

HeadExchange::Codes HeadExchange::codes(const TokenStore& attended) const {
    const std::int64_t rows = max_tile_ * size() * attended.shape().dim(1);
    const auto make = [&] {
        return memory_.on_device({"ulysses codes"}, DType::i32,
                                 {rows, packed_words(attended.shape().dim(2))});
    };
    return {make(), make()};
}

// fn(numbers, codes), each a matrix with a row for each token and head, for the ranks before this
// one and for those after it.
template <typename Fn>
void HeadExchange::for_others(const TensorView& blocks, const TensorView& codes, Fn fn) const {
    const std::int64_t rows = blocks.dim(0) * blocks.dim(1), each = rows / size();
    const TensorView numbers = blocks.reshaped({rows, blocks.dim(2)});
    const std::int64_t before = layout_.ulysses_index * each, after = rows - before - each;
    if (before > 0) fn(numbers.rows(0, before), codes.rows(0, before));
    if (after > 0) fn(numbers.rows(before + each, after), codes.rows(before + each, after));
}

void HeadExchange::round(const Ops& ops, const TensorView& blocks, const ArenaTensor& codes) const {
    for_others(blocks, codes.view(), [&](const TensorView& numbers, const TensorView& packed) {
        ops(PackRows{numbers, packed});
    });
}

void HeadExchange::restore(const Ops& ops, const ArenaTensor& codes,
                           const TensorView& blocks) const {
    for_others(blocks, codes.view(), [&](const TensorView& numbers, const TensorView& packed) {
        ops(UnpackRows{packed, numbers});
    });
}

void HeadExchange::trade(const TensorView& outgoing, const TensorView& incoming,
                         const Codes& codes) const {
    Communicator& communicator = streams_.communicator;
    if (codes.empty()) return communicator.all_to_all(GroupKey::ulysses, outgoing, incoming);
    const std::int64_t rows = outgoing.dim(0) * outgoing.dim(1);
    communicator.all_to_all(GroupKey::ulysses, codes.out->rows(0, rows), codes.in->rows(0, rows));
}

// In windows other waits of compute may cover this one.
void HeadExchange::wait_for(const StreamOrder::Mark& sent) {
    if (layout_.in_windows()) return memory_.wait_soon(sent);
    if (!streams_.order.needs_wait(streams_.compute, sent)) return;
    exposed_.begin(streams_.compute);
    streams_.order.wait(streams_.compute, sent);
    exposed_.end(streams_.compute);
}

TilesToHeads::TilesToHeads(HeadExchange& exchange, std::initializer_list<AttendedRows> tensors)
    : exchange_(exchange),
      rounds_(exchange.rounds_any(tensors)),
      windows_(exchange.memory_, streams()) {
    for (const AttendedRows& tensor : tensors) {
        const bool rounds = exchange.rounds(*tensor.store);
        Tensor& made = tensors_.emplace_back(
            Tensor{tensor.heads,
                   exchange.window(*tensor.store, RowAccess::write, rounds_ ? 2 : 1),
                   {},
                   {}});
        windows_.add(made.window);
        if (!exchange.moves()) continue;
        for (std::size_t turn = 0; turn < sent_.size(); ++turn) {
            if (rounds) made.codes[turn] = exchange.codes(*tensor.store);
            if (rounds && turn > 0) continue;
            made.outgoing[turn] = exchange.blocks(*tensor.store, tensor.store->shape().dtype());
        }
    }
}

TilesToHeads::~TilesToHeads() {
    for (Tensor& tensor : tensors_) {
        for (std::size_t turn = 0; turn < sent_.size(); ++turn) {
            for (ArenaTensor* travels : {&tensor.outgoing[turn], &tensor.codes[turn].out}) {
                if (!travels->empty())
                    exchange_.memory_.release_after(std::move(*travels), sent_[turn]);
            }
        }
    }
}

// Compute puts this rank's own block in place; the others arrive, and compute restores codes.
WindowStreams TilesToHeads::streams() const {
    const RankStreams& all = exchange_.streams_;
    Stream& last = exchange_.moves() && !rounds_ ? all.communication : all.compute;
    return {all.compute, last, all.from_host, all.to_host};
}

void TilesToHeads::send(const Ops& ops, const Tile& tile, std::initializer_list<TensorView> rows) {
    const TokenRange range = exchange_.layout_.slot_rows(tile.range);
    windows_.open();
    scatter(ops, range, rows);
    if (exchange_.moves()) trade(range);
    if (rounds_ && num_sent_ > 0) restore(ops);
    sent_last_ = range;
    ++num_sent_;
    if (!rounds_) windows_.close();
}

void TilesToHeads::scatter(const Ops& ops, const TokenRange& range,
                           std::initializer_list<TensorView> rows) {
    const std::size_t turn = num_sent_ % 2;
    if (exchange_.moves() && num_sent_ >= sent_.size()) exchange_.wait_for(sent_[turn]);
    auto row = rows.begin();
    for (const Tensor& tensor : tensors_) {
        const TensorView blocks =
            exchange_.moves() ? tensor.blocks(turn, range.count) : TensorView();
        exchange_.scatter(ops, tensor.heads, *row++, blocks, tensor.window.at(range));
        const HeadExchange::Codes& codes = tensor.codes[turn];
        if (!codes.empty()) exchange_.round(ops, blocks, codes.out);
    }
}

void TilesToHeads::trade(const TokenRange& range) {
    const RankStreams& streams = exchange_.streams_;
    const std::size_t turn = num_sent_ % 2;
    streams.order.follow(streams.communication, streams.compute, *exchange_.ready_[turn]);
    for (const Tensor& tensor : tensors_) {
        exchange_.trade(tensor.blocks(turn, range.count), tensor.window.at(range),
                        tensor.codes[turn]);
    }
    sent_[turn] = exchange_.memory_.record(streams.communication, Waiters::all);
}

// The tile that was sent last, while the next one is on its way.
void TilesToHeads::restore(const Ops& ops) {
    const std::size_t turn = (num_sent_ + 1) % 2;
    exchange_.wait_for(sent_[turn]);
    for (const Tensor& tensor : tensors_) {
        const HeadExchange::Codes& codes = tensor.codes[turn];
        if (!codes.empty()) exchange_.restore(ops, codes.in, tensor.window.at(sent_last_));
    }
    windows_.close();
}

void TilesToHeads::finish(const Ops& ops) {
    if (num_sent_ == 0 || !exchange_.moves()) return;
    if (rounds_) return restore(ops);
    if (!exchange_.layout_.in_windows()) exchange_.wait_for(sent_[(num_sent_ - 1) % 2]);
}

TilesToTokens::TilesToTokens(HeadExchange& exchange, std::initializer_list<AttendedRows> tensors,
                             std::initializer_list<DType> types)
    : exchange_(exchange),
      converts_(exchange.rounds_any(tensors) ||
                !std::equal(types.begin(), types.end(), tensors.begin(),
                            [](DType type, const AttendedRows& tensor) {
                                return type == tensor.store->shape().dtype();
                            })),
      windows_(exchange.memory_, streams(converts_)) {
    auto type = types.begin();
    for (const AttendedRows& tensor : tensors)
        add(tensor, *type++);
    if (exchange.moves())
        free_.fill(exchange.memory_.record(exchange.streams_.compute, Waiters::all));
}

// Codes are of numbers in the type of compute.
void TilesToTokens::add(const AttendedRows& tensor, DType type) {
    const int lanes = exchange_.layout_.lanes();
    const bool rounds = exchange_.rounds(*tensor.store);
    Tensor& made =
        tensors_.emplace_back(Tensor{tensor.heads,
                                     exchange_.window(*tensor.store, RowAccess::read, lanes),
                                     rounds ? exchange_.memory_.types().compute : type,
                                     {},
                                     {},
                                     {}});
    windows_.add(made.window);
    for (int lane = 0; lane < lanes; ++lane) {
        if (made.type != tensor.store->shape().dtype())
            made.converted[usize(lane)] = exchange_.blocks(*tensor.store, made.type);
        if (rounds) made.codes[usize(lane)] = exchange_.codes(*tensor.store);
        if (exchange_.moves() && !(rounds && lane > 0))
            made.received[usize(lane)] = exchange_.blocks(*tensor.store, made.type);
    }
}

// Compute need not touch rows that travel as they are.
WindowStreams TilesToTokens::streams(bool converts) const {
    const RankStreams& all = exchange_.streams_;
    const bool compute_first = converts || !exchange_.moves();
    return {compute_first ? all.compute : all.communication, all.compute, all.from_host,
            all.to_host};
}

TensorView TilesToTokens::outgoing(const Tensor& tensor, const Tile& tile) const {
    const TokenRange range = exchange_.layout_.slot_rows(tile.range);
    const ArenaTensor& converted = tensor.converted[usize(tile.lane)];
    return converted.empty() ? tensor.window.at(range) : converted->rows(0, range.count);
}

TensorView TilesToTokens::received(const Tensor& tensor, const Tile& tile) const {
    if (!exchange_.moves()) return {};
    const TokenRange range = exchange_.layout_.slot_rows(tile.range);
    return tensor.received[tensor.rounds() ? 0 : usize(tile.lane)]->rows(0, range.count);
}

void TilesToTokens::start(const Ops& ops, const Tile& tile) {
    const TokenRange range = exchange_.layout_.slot_rows(tile.range);
    windows_.open();
    const auto lane = usize(tile.lane);
    for (const Tensor& tensor : tensors_) {
        if (!tensor.converted[lane].empty())
            ops(Copy{tensor.window.at(range), outgoing(tensor, tile)});
        if (tensor.rounds()) exchange_.round(ops, outgoing(tensor, tile), tensor.codes[lane].out);
    }
    if (!exchange_.moves()) return;
    const RankStreams& streams = exchange_.streams_;
    if (converts_) {
        streams.order.follow(streams.communication, streams.compute, *exchange_.ready_[lane]);
    } else {
        streams.order.wait(streams.communication, free_[lane]);
    }
    for (const Tensor& tensor : tensors_)
        exchange_.trade(outgoing(tensor, tile), received(tensor, tile), tensor.codes[lane]);
    streams.order.record(streams.communication, *exchange_.arrived_[lane]);
}

void TilesToTokens::done(const Tile& tile) {
    windows_.close();
    if (exchange_.moves() && !converts_)
        free_[usize(tile.lane)] =
            exchange_.memory_.record(exchange_.streams_.compute, Waiters::all);
}

void TilesToTokens::arrive(const Tile& tile) {
    if (exchange_.moves())
        exchange_.streams_.wait_exposed(*exchange_.arrived_[usize(tile.lane)], exchange_.exposed_);
}

void TilesToTokens::take(const Ops& ops, const Tile& tile, std::size_t tensor,
                         const TensorView& rows, Into into) {
    const Tensor& from = tensors_[tensor];
    if (from.rounds())
        exchange_.restore(ops, from.codes[usize(tile.lane)].in, received(from, tile));
    exchange_.gather(ops, from.heads, outgoing(from, tile), received(from, tile), rows, into);
}

}  // namespace rm
