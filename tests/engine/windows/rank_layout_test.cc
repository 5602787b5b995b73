#include "engine/windows/rank_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "tests/support/zigzag_runs.h"

namespace rm {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kSeed = 20'261'121;

// A mesh, sizes and documents, and the layouts that the ranks derive from them.
struct Case {
    explicit Case(std::uint64_t seed) : rng(seed) {
        const auto size = [&](std::uint64_t most) { return static_cast<int>(1 + rng.below(most)); };
        mesh = Mesh::make(size(2), size(4), size(3), size(3)).value();
        working = rng.below(2) == 0 ? WorkingSet::whole : WorkingSet::windows;
        tile = 64 * mesh.size(Axis::tensor) * size(3);
        chunk = tile * size(4) + size(200) - 100;
        context = 11'000 + size(9000);
        for (std::int64_t left = context; left > 0; left -= documents.back())
            documents.push_back(std::min<std::int64_t>(left, size(rng.below(2) == 0 ? 4000 : 60)));
        laid_out =
            place_documents(documents, layout(0).padded, mesh.size(Axis::ring), Positions::reset);
    }
    RankLayout layout(int rank) const {
        MemoryPolicy memory;
        memory.tile_tokens = tile;
        memory.chunk_tokens = chunk;
        memory.alpha = 0.3;
        memory.working = working;
        return make_rank_layout(context, mesh, rank, memory).value();
    }

    Rng rng;
    Mesh mesh;
    WorkingSet working;
    std::int64_t tile, chunk, context;
    std::vector<std::int64_t> documents;
    DocumentLayout laid_out;
};

template <typename Check>
void for_each_rank(Check check) {
    for (std::uint64_t seed = kSeed; seed < kSeed + 100; ++seed) {
        const Case c(seed);
        for (int rank = 0; rank < c.mesh.num_ranks(); ++rank) {
            SCOPED_TRACE(format("seed {}, {}, rank {}, context {}, tile {}, chunk {}", seed,
                                to_string(c.mesh), rank, c.context, c.tile, c.chunk));
            check(c, c.layout(rank), rank);
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST(RankLayout, GivesEveryTokenToOneRankOfEachDataAndTensorIndex) {
    for (std::uint64_t seed = kSeed; seed < kSeed + 100; ++seed) {
        const Case c(seed);
        const int copies = c.mesh.size(Axis::data) * c.mesh.size(Axis::tensor);
        std::vector<int> held(static_cast<std::size_t>(c.layout(0).padded));
        for (int rank = 0; rank < c.mesh.num_ranks(); ++rank) {
            for (const Piece& piece : local_pieces(c.laid_out, c.layout(rank))) {
                for (std::int64_t i = 0; i < piece.run.length; ++i)
                    ++held.at(static_cast<std::size_t>(piece.first + i));
            }
        }
        ASSERT_THAT(held, testing::Each(copies)) << "seed " << seed << ", " << to_string(c.mesh);
    }
}

TEST(RankLayout, GivesAUlyssesRankEveryUlyssesThTileOfItsSlot) {
    for_each_rank([](const Case& c, const RankLayout& layout, int rank) {
        ASSERT_EQ(layout.slot_tokens * layout.ring, layout.padded);
        ASSERT_EQ(layout.local_tokens * layout.ulysses, layout.slot_tokens);
        ASSERT_EQ(layout.ring_slot, c.mesh.coord(rank, Axis::ring));
        const SequenceRuns runs = make_sequence_runs(c.laid_out, layout);
        ASSERT_EQ(std::ssize(runs.by_slot), layout.ring);
        const auto& slot = runs.by_slot[static_cast<std::size_t>(layout.ring_slot)];
        ASSERT_EQ(num_tokens(slot), layout.slot_tokens);
        ASSERT_EQ(runs.local, runs_of(local_pieces(c.laid_out, layout)));
        const int index = c.mesh.coord(rank, Axis::ulysses);
        std::int64_t at = 0;  // behind the tiles of all ranks so far
        for (const Chunk& chunk : layout.chunks) {
            for (const Tile& tile : chunk) {
                const std::int64_t count = tile.range.count;
                ASSERT_EQ(layout.slot_rows(tile.range), (TokenRange{at, layout.ulysses * count}));
                ASSERT_EQ(slice_runs(runs.local, tile.range.first, count),
                          slice_runs(slot, at + index * count, count));
                at += layout.ulysses * count;
            }
        }
        ASSERT_EQ(at, layout.slot_tokens);
    });
}

TEST(RankLayout, CutsTilesOfAllLocalTokensWhereverDocumentsEnd) {
    for_each_rank([](const Case& c, const RankLayout& layout, int) {
        std::int64_t at = 0;
        for (const Chunk& chunk : layout.chunks) {
            const std::int64_t chunk_begin = at;
            for (const Tile& tile : chunk) {
                ASSERT_EQ(tile.range.first, at);
                ASSERT_EQ(tile.range.count, std::min(c.tile, layout.local_tokens - at));
                ASSERT_EQ(tile.range.count % layout.tensor, 0) << "a tensor rank's part of a tile";
                at += tile.range.count;
            }
            ASSERT_LE(at - chunk_begin, std::max(c.chunk, c.tile));
        }
        ASSERT_EQ(at, layout.local_tokens);
        ASSERT_EQ(layout.max_tile, std::min(c.tile, layout.local_tokens));
    });
}

TEST(RankLayout, KeepsItsShareOfTilesEvenlySpread) {
    for_each_rank([](const Case&, const RankLayout& layout, int) {
        std::int64_t tiles = 0, kept = 0, rows = 0;
        for (const Chunk& chunk : layout.chunks) {
            for (const Tile& tile : chunk) {
                ++tiles;
                if (tile.kept()) {
                    ASSERT_EQ(tile.kept_first, rows);
                    rows += tile.range.count;
                    ++kept;
                }
                ASSERT_LE(std::abs(static_cast<double>(kept) - 0.3 * static_cast<double>(tiles)),
                          1);
            }
        }
        ASSERT_EQ(layout.kept.total, rows);
        ASSERT_EQ(layout.kept_shards.total, rows / layout.tensor);
        ASSERT_EQ(layout.kept.ranges.size(), layout.chunks.size());
    });
}

void expect_cut_at_tiles(const std::vector<SlotChunk>& chunks, const std::vector<rm::Run>& slot,
                         std::int64_t chunk_tokens, const RankLayout& layout) {
    std::vector<std::int64_t> tiles;
    for (const TokenRange& tile : cut_tiles(slot, layout.memory.tile_tokens))
        tiles.push_back(tile.first);
    std::int64_t at = 0;
    for (const SlotChunk& chunk : chunks) {
        ASSERT_EQ(chunk.range.first, at);
        ASSERT_TRUE(std::binary_search(tiles.begin(), tiles.end(), at)) << "cut at " << at;
        ASSERT_LE(chunk.range.count, layout.max_slot_chunk);
        ASSERT_EQ(chunk.runs, slice_runs(slot, at, chunk.range.count));
        at += chunk.range.count;
    }
    ASSERT_EQ(at, layout.slot_tokens);
    ASSERT_EQ(std::ssize(chunks), (at + chunk_tokens - 1) / chunk_tokens)
        << "whatever the documents";
}

TEST(RankLayout, CutsQueriesAndTheirKeysAtTilesOfTheirRunsOnly) {
    for_each_rank([](const Case& c, const RankLayout& layout, int) {
        const SequenceRuns runs = make_sequence_runs(c.laid_out, layout);
        std::int64_t chunk_tokens = std::max(c.chunk, c.tile);
        // In windows, a chunk of every ulysses rank.
        if (layout.in_windows()) chunk_tokens = chunk_tokens / c.tile * c.tile * layout.ulysses;
        const auto& own = runs.by_slot[static_cast<std::size_t>(layout.ring_slot)];
        expect_cut_at_tiles(runs.query_chunks, own, chunk_tokens, layout);
        ASSERT_EQ(std::ssize(runs.key_chunks), layout.ring);
        for (std::size_t slot = 0; slot < runs.key_chunks.size(); ++slot) {
            const std::vector<SlotChunk>& keys = runs.key_chunks[slot];
            ASSERT_EQ(keys.size(), runs.chunks_per_block());
            if (layout.in_windows()) {
                expect_cut_at_tiles(keys, runs.by_slot[slot], chunk_tokens, layout);
            } else {
                ASSERT_EQ(keys.size(), 1u);
                ASSERT_EQ(keys[0].range, (TokenRange{0, layout.slot_tokens}));
                ASSERT_EQ(keys[0].runs, runs.by_slot[slot]);
            }
        }
    });
}

TEST(RankLayout, HoldsAllQueriesAtOnceOrInWindowsAChunk) {
    for_each_rank([](const Case& c, const RankLayout& layout, int) {
        const SequenceRuns runs = make_sequence_runs(c.laid_out, layout);
        const std::size_t per_group = layout.in_windows() ? 1 : runs.query_chunks.size();
        std::int64_t at = 0;
        std::size_t chunk = 0;
        for (const QueryGroup& group : runs.query_groups) {
            ASSERT_EQ(group.first_chunk, chunk);
            ASSERT_EQ(group.num_chunks, per_group);
            ASSERT_EQ(group.rows.first, at);
            chunk += per_group;
            at += group.rows.count;
        }
        ASSERT_EQ(chunk, runs.query_chunks.size());
        ASSERT_EQ(at, layout.slot_tokens);
    });
}

MemoryPolicy tiles_of(std::int64_t tokens) {
    MemoryPolicy memory;
    memory.tile_tokens = tokens;
    memory.chunk_tokens = 2 * tokens;
    return memory;
}

TEST(RankLayout, OfOneDocumentIsZigzag) {
    const Mesh mesh = Mesh::make(2, 4, 1, 1).value();
    const std::vector<std::int64_t> one = {8000};
    for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
        const RankLayout layout = make_rank_layout(8000, mesh, rank, tiles_of(512)).value();
        EXPECT_EQ(layout.padded, 8064);
        const SequenceRuns runs =
            make_sequence_runs(place_documents(one, 8064, 4, Positions::reset), layout);
        for (int slot = 0; slot < 4; ++slot) {
            EXPECT_EQ(runs.by_slot[static_cast<std::size_t>(slot)],
                      zigzag_runs(8000, 8064, 4, slot, 0));
        }
        EXPECT_EQ(runs.local, zigzag_runs(8000, 8064, 4, layout.ring_slot, 0));
    }
}

TEST(RankLayout, OfNoSequenceIsAllPadding) {
    for_each_rank([](const Case&, const RankLayout& layout, int) {
        const SequenceRuns runs = padding_runs(layout);
        const auto padding = [](const rm::Run& run) { return run.document == kPaddingDocument; };
        ASSERT_TRUE(std::all_of(runs.local.begin(), runs.local.end(), padding));
        ASSERT_EQ(num_tokens(runs.local), layout.local_tokens);
        for (const auto& slot : runs.by_slot) {
            ASSERT_TRUE(std::all_of(slot.begin(), slot.end(), padding));
            ASSERT_EQ(num_tokens(slot), layout.slot_tokens);
        }
        ASSERT_EQ(runs.query_chunks.back().range.first + runs.query_chunks.back().range.count,
                  layout.slot_tokens);
    });
}

TEST(RankLayout, NamesTheTilesThatATensorGroupCanShare) {
    const Mesh three = Mesh::make(1, 1, 1, 3).value();
    const auto layout = make_rank_layout(9600, three, 0, tiles_of(512));
    ASSERT_FALSE(layout);
    EXPECT_EQ(layout.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(layout.error().message, HasSubstr("tile of 512 tokens"));
    EXPECT_THAT(layout.error().message, HasSubstr("tensor 3"));
    EXPECT_THAT(layout.error().message, HasSubstr("64 that do: 384 or 576"));
    EXPECT_THAT(make_rank_layout(9600, three, 0, tiles_of(64)).error().message,
                HasSubstr("do: 192"));
    EXPECT_TRUE(make_rank_layout(9600, three, 0, tiles_of(576)));
    EXPECT_FALSE(make_rank_layout(10, three, 0, tiles_of(576))) << "the errors of padded_length";
}

}  // namespace
}  // namespace rm
