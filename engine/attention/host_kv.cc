#include "engine/attention/host_kv.h"

#include <utility>

namespace rm {
namespace {

// Each group visits chunks 0 to its own. It is the first to visit its own and opens it as `first`.
Visits chunk_visits(const std::vector<QueryChunk>& chunks, RowAccess access, RowAccess first) {
    std::vector<Visit> list;
    for (const QueryChunk& chunk : chunks)
        list.push_back({chunk.range, access});
    return Visits::up_to_each(std::move(list), first);
}

TokenWindow key_window(StepMemory& memory, TokenStore& store, const std::vector<QueryChunk>& chunks,
                       std::int64_t most_rows) {
    return {memory, store, chunk_visits(chunks, RowAccess::read, RowAccess::read), most_rows};
}

TokenWindow key_grad_window(StepMemory& memory, TokenStore& store,
                            const std::vector<QueryChunk>& chunks, std::int64_t most_rows) {
    return {memory, store, chunk_visits(chunks, RowAccess::update, RowAccess::write), most_rows};
}

KvGradStream::Gradients host_gradients(StepMemory& memory, DType accum, const TokenStore& k) {
    const TensorView& shape = k.shape();
    const auto make = [&](std::string_view what) {
        return TokenStore(memory, {what}, TokenStore::Place::host, accum,
                          {shape.dim(0), shape.dim(1), shape.dim(2)});
    };
    KvGradStream::Gradients gradients;
    gradients.d_k = make("d_k");
    gradients.d_v = make("d_v");
    return gradients;
}

}  // namespace

HostKv::HostKv(StepMemory& memory, QueryKeyValue& stores, const std::vector<QueryChunk>& chunks,
               std::int64_t most_rows)
    : chunks_(chunks),
      k_(key_window(memory, stores.k, chunks, most_rows)),
      v_(key_window(memory, stores.v, chunks, most_rows)),
      windows_(memory, k_, v_) {}

KvBlock HostKv::next() {
    windows_.open();
    return {k_.rows(), v_.rows(), chunks_[block_].runs};
}

void HostKv::done() {
    windows_.close();
    if (block_++ < group_) return;
    block_ = 0;
    ++group_;
}

HostKvGrad::HostKvGrad(StepMemory& memory, const Ops& ops, QueryKeyValue& stores,
                       const std::vector<QueryChunk>& chunks, std::int64_t most_rows)
    : ops_(ops),
      chunks_(chunks),
      gradients_(host_gradients(memory, ops.kernels().types().accum, stores.k)),
      k_(key_window(memory, stores.k, chunks, most_rows)),
      v_(key_window(memory, stores.v, chunks, most_rows)),
      d_k_(key_grad_window(memory, gradients_.d_k, chunks, most_rows)),
      d_v_(key_grad_window(memory, gradients_.d_v, chunks, most_rows)),
      windows_(memory, k_, v_, d_k_, d_v_) {}

KvGradBlock HostKvGrad::next() {
    windows_.open();
    if (block_ == group_) {
        ops_(FillZero{d_k_.rows()});
        ops_(FillZero{d_v_.rows()});
    }
    return {{k_.rows(), v_.rows(), chunks_[block_].runs}, d_k_.rows(), d_v_.rows()};
}

void HostKvGrad::done() {
    windows_.close();
    if (block_++ < group_) return;
    block_ = 0;
    ++group_;
}

// The result takes the windows' stores: the windows are not used again.
KvGradStream::Gradients HostKvGrad::finish() {
    return std::move(gradients_);
}

}  // namespace rm
