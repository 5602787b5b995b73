// Lists of chunks that see each other, compared with a loop over all tokens.
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "engine/windows/rank_layout.h"

namespace rm {
namespace {

constexpr std::uint64_t kSeed = 20'261'126;

struct Case {
    explicit Case(std::uint64_t seed) : rng(seed) {
        const auto size = [&](std::uint64_t most) { return static_cast<int>(1 + rng.below(most)); };
        const int ring = size(6);
        std::vector<int> inner;
        for (int i = 1; i <= ring; ++i) {
            if (ring % i == 0) inner.push_back(i);
        }
        mesh = Mesh::make(1, ring, size(2), 1, inner[rng.below(inner.size())]).value();
        memory.tile_tokens = 64 * size(2);
        memory.chunk_tokens = memory.tile_tokens * size(2);
        memory.kept = KeptPlace::host;
        memory.working = rng.below(4) == 0 ? WorkingSet::whole : WorkingSet::windows;
        context = 3000 + size(2000);
        const std::uint64_t longest = rng.below(3) == 0 ? 4000 : 400;
        const std::int64_t last = rng.below(2) == 0 ? 0 : context / 12;  // padding behind it
        std::vector<std::int64_t> documents;
        for (std::int64_t left = context - last; left > 0; left -= documents.back())
            documents.push_back(std::min<std::int64_t>(left, size(longest)));
        laid_out =
            place_documents(documents, layout(0).padded, mesh.size(Axis::ring), Positions::reset);
    }
    RankLayout layout(int rank) const {
        return make_rank_layout(context, mesh, rank, memory).value();
    }
    std::string name() const {
        return format("{}, {} tokens, {}", to_string(mesh), context, to_string(memory));
    }

    Rng rng;
    Mesh mesh;
    MemoryPolicy memory;
    std::int64_t context;
    DocumentLayout laid_out;
};

// The first position of every document among some keys.
using FirstPositions = std::map<std::int32_t, std::int64_t>;
FirstPositions first_positions(const SlotChunk& keys) {
    FirstPositions firsts;
    for (const rm::Run& run : keys.runs) {
        for (std::int64_t i = 0; i < run.length; ++i) {
            const std::int64_t position = run.first + i;
            const auto [found, is_new] = firsts.emplace(run.document, position);
            found->second = std::min(found->second, position);
        }
    }
    return firsts;
}

bool any_token_sees(const SlotChunk& queries, const FirstPositions& keys) {
    for (const rm::Run& run : queries.runs) {
        if (run.document == kPaddingDocument) continue;
        for (std::int64_t i = 0; i < run.length; ++i) {
            const auto found = keys.find(run.document);
            if (found != keys.end() && found->second <= run.first + i) return true;
        }
    }
    return false;
}

// Whether query chunk and key chunk meet: one by numbers of by_queries, one by those of by_keys.
class Meetings {
public:
    Meetings(const SequenceRuns& runs, const RankLayout& layout) : runs_(runs), layout_(layout) {
        for (int block = 0; block < layout.ring_order.num_blocks(); ++block) {
            for (const SlotChunk& keys : runs.key_chunks[layout.ring_order.slot(block)])
                add(block, first_positions(keys));
        }
    }
    bool meet(std::size_t query, std::size_t key) const { return all_[key][query]; }
    std::size_t num_keys() const { return all_.size(); }

private:
    // A chunk of the own block meets itself even if it is padding.
    void add(int block, const FirstPositions& keys) {
        const std::size_t index = all_.size() % runs_.chunks_per_block();
        std::vector<bool>& met = all_.emplace_back();
        for (std::size_t query = 0; query < runs_.query_chunks.size(); ++query) {
            const bool own = block == 0 && (!layout_.in_windows() || index == query);
            met.push_back(own || any_token_sees(runs_.query_chunks[query], keys));
        }
    }

    const SequenceRuns& runs_;
    const RankLayout& layout_;
    std::vector<std::vector<bool>> all_;  // by key, by query
};

template <typename Check>
void for_each_slot(Check check) {
    for (std::uint64_t seed = kSeed; seed < kSeed + 30; ++seed) {
        const Case c(seed);
        SCOPED_TRACE(format("seed {}, {}", seed, c.name()));
        for (int rank = 0; rank < c.mesh.num_ranks(); ++rank) {
            const RankLayout layout = c.layout(rank);
            if (layout.ulysses_index > 0) continue;  // sees the same
            const SequenceRuns runs = make_sequence_runs(c.laid_out, layout);
            check(layout, runs, Meetings(runs, layout));
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

// `inner(outer)` lists the inner chunks that an outer one meets, in their order.
template <typename Inner>
void expect_pairs(const ChunkPairs& pairs, std::size_t num_outer, const Inner& inner) {
    ASSERT_EQ(pairs.num_outer(), num_outer);
    std::size_t pair = 0;
    for (std::size_t outer = 0; outer < num_outer; ++outer) {
        for (const std::size_t met : inner(outer)) {
            ASSERT_LT(pair, pairs.size());
            ASSERT_EQ(pairs[pair].outer, outer);
            ASSERT_EQ(pairs[pair].inner, met);
            ++pair;
        }
    }
    ASSERT_EQ(pair, pairs.size());
}

TEST(ChunksByQueries, AreThoseThatSeeEachOtherInTheOrderOfTheRing) {
    for_each_slot([](const RankLayout& layout, const SequenceRuns& runs, const Meetings& expected) {
        if (!layout.in_windows()) return;
        expect_pairs(runs.by_queries, runs.query_chunks.size(), [&](std::size_t query) {
            std::vector<std::size_t> keys;
            for (std::size_t key = 0; key < expected.num_keys(); ++key) {
                if (expected.meet(query, key)) keys.push_back(key);
            }
            EXPECT_FALSE(keys.empty()) << "a query chunk without keys";
            return keys;
        });
    });
}

TEST(ChunksByKeys, AreTheSamePairsInTheOrderOfTheBackwardPass) {
    for_each_slot([](const RankLayout& layout, const SequenceRuns& runs, const Meetings& expected) {
        const std::size_t per_block = runs.chunks_per_block();
        expect_pairs(runs.by_keys, expected.num_keys(), [&](std::size_t outer) {
            const int block = layout.ring_order.backward(static_cast<int>(outer / per_block));
            const std::size_t key = usize(block) * per_block + outer % per_block;
            std::vector<std::size_t> queries;
            for (std::size_t query = 0; query < runs.query_chunks.size(); ++query) {
                if (expected.meet(query, key)) queries.push_back(query);
            }
            return queries;
        });
    });
}

TEST(ChunksByKeys, TellTheFirstMeetingOfEveryQueryChunk) {
    for_each_slot([](const RankLayout&, const SequenceRuns& runs, const Meetings&) {
        ASSERT_EQ(runs.first_of_queries.size(), runs.query_chunks.size());
        for (std::size_t query = 0; query < runs.query_chunks.size(); ++query) {
            const std::size_t first = runs.first_of_queries[query];
            ASSERT_LT(first, runs.by_keys.size()) << "a query chunk without keys";
            ASSERT_EQ(runs.by_keys[first].inner, query);
            for (std::size_t pair = 0; pair < first; ++pair)
                ASSERT_NE(runs.by_keys[pair].inner, query);
        }
    });
}

TEST(Chunks, OfNoSequenceMeetOnlyThemselves) {
    const Case c(kSeed);
    MemoryPolicy memory = c.memory;
    memory.working = WorkingSet::windows;
    const RankLayout layout = make_rank_layout(c.context, c.mesh, 0, memory).value();
    const SequenceRuns runs = padding_runs(layout);
    ASSERT_EQ(runs.by_queries.size(), runs.query_chunks.size());
    ASSERT_EQ(runs.by_keys.size(), runs.query_chunks.size());
    for (std::size_t query = 0; query < runs.query_chunks.size(); ++query)
        EXPECT_EQ(runs.by_queries[query].inner, query);
}

}  // namespace
}  // namespace rm
