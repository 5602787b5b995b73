#pragma once

#include <span>
#include <vector>

#include "base/layout.h"
#include "engine/windows/token_store.h"

namespace rm {

// Keys and values of N tokens, rotated; or gradients of them.
struct KeyValue {
    TokenStore k;  // (N, heads, D)
    TokenStore v;  // likewise
};
// With the queries of the same tokens.
struct QueryKeyValue {
    TokenStore q;  // (N, heads, D)
    KeyValue kv;
};

// Keys and values with the runs that say which tokens they are. N: of a slot or of a chunk of it.
struct KvBlock {
    TensorView k;  // (N, Hk, D) compute
    TensorView v;  // (N, Hk, D) compute
    std::span<const Run> runs;
};
// A block with the sums of its gradients.
struct KvGradBlock {
    KvBlock kv;
    TensorView d_k;  // (N, Hk, D) accum
    TensorView d_v;  // (N, Hk, D) accum
};

// A source of key-value blocks, always one block ahead of the compute. Per block: next(), queue
// compute, done(). Work queued on the compute stream after next() sees the block; done() lets it be
// replaced. Every QueryGroup gets its own blocks, the groups in order.
class KvStream {
public:
    virtual ~KvStream() = default;
    virtual std::size_t num_blocks(std::size_t group) const = 0;
    virtual KvBlock next() = 0;
    virtual void done() = 0;
};

}  // namespace rm
