#pragma once

#include "engine/model/block.h"

// Where a layer's tensors of many tokens lie, as the memory policy says.
namespace rm {

// Where the layer's working tensors lie, and where the tensors kept for the backward pass lie.
TokenStore::Place working_place(const MemoryPolicy& policy);
TokenStore::Place kept_place(const MemoryPolicy& policy);

// Makes a store for a working tensor of the layer at hand.
TokenStore working_store(const BlockContext& c, BufferName name, DType dtype,
                         std::initializer_list<std::int64_t> shape);
// Makes a store for a tensor that is kept for the backward pass.
TokenStore kept_store(const BlockContext& c, BufferName name, DType dtype,
                      std::initializer_list<std::int64_t> shape);

// (N, heads, D) compute.
QueryKeyValue working_query_key_value(const BlockContext& c, int layer, std::int64_t tokens,
                                      std::int64_t query_heads, std::int64_t kv_heads);
// Makes the stores of attention's inputs, (S, ...).
QueryKeyValue attended_store(const BlockContext& c, int layer);

// Whether what attention works on stays until the backward pass as it lies.
bool keeps_attended(const MemoryPolicy& policy);
// Attention's output, which is left out of what is kept per tile, is a store of its own beside the
// one that is worked on.
bool copies_out(const MemoryPolicy& policy);
// Fills in stores for the tiles that are kept.
void make_kept(const BlockContext& c, int layer, LayerKept& kept);

// A loop over the chunks of this rank's tokens, whose rows `cut` lists. An empty store gives an
// empty window.
TokenWindow cut_window(StepMemory& memory, TokenStore& store, const RowCut& cut, RowAccess access);
TokenWindow token_window(const BlockContext& c, TokenStore& store, RowAccess access);
TokenWindow shard_window(const BlockContext& c, TokenStore& store, RowAccess access);
TokenWindow kept_window(const BlockContext& c, TokenStore& store, RowAccess access);
TokenWindow kept_shard_window(const BlockContext& c, TokenStore& store, RowAccess access);
// A loop over attention's passes.
TokenWindow pass_window(const BlockContext& c, TokenStore& store, RowAccess access);

// Does `work` for every tile, with the windows open on the chunk that it is in.
template <typename Work>
void for_tiles(WindowGroup& windows, const std::vector<Chunk>& chunks, Work work) {
    for (const Chunk& chunk : chunks) {
        windows.open();
        for (const Tile& tile : chunk)
            work(tile);
        windows.close();
    }
}

}  // namespace rm
