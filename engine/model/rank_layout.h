#pragma once

#include <cstdint>
#include <vector>

#include "base/layout.h"
#include "base/mesh.h"

namespace rm {

// Which tokens of a sequence one rank holds and how they are cut: the same for every step of a
// stage. The sequence is document 0; a micro-batch without a sequence (the batch does not fill the
// mesh) has the same shape with every token padding.
struct SequenceRuns {
    std::vector<Run> local;                      // this rank's, in local token order
    std::vector<std::vector<Run>> by_slot;       // of every ring slot
    std::vector<std::vector<Run>> local_chunks;  // local, cut by chunk
};

struct RankLayout {
    std::int64_t context = 0;       // tokens of the sequence (S)
    std::int64_t padded = 0;        // a multiple of what the mesh needs
    std::int64_t local_tokens = 0;  // T
    int ring_slot = 0;
    std::vector<TokenRange> pieces;               // of the padded sequence, in local token order
    std::vector<std::vector<TokenRange>> chunks;  // tiles by chunk, in local token order
    std::int64_t max_tile = 0;
    std::int64_t max_chunk = 0;
    SequenceRuns sequence;
    SequenceRuns nothing;  // all padding

    TokenRange chunk_range(std::size_t chunk) const { return cover(chunks[chunk]); }
};

// Errors of padded_length.
Result<RankLayout> make_rank_layout(std::int64_t context, const Mesh& mesh, int rank,
                                    std::int64_t tile_tokens, std::int64_t chunk_tokens);

}  // namespace rm
