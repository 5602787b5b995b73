// Several tiles under way at once work as if one followed the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "engine/windows/windows.h"
#include "tests/engine/windows/memory_rig.h"

namespace rm {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kTile = 10;

// Chunks of two tiles; the last has one, which is short.
RankLayout layout_of_seven_tiles() {
    MemoryPolicy memory;
    memory.tile_tokens = kTile;
    memory.chunk_tokens = 2 * kTile;
    memory.kept = KeptPlace::host;
    memory.working = WorkingSet::windows;
    return make_rank_layout(6 * kTile + 4, Mesh(), 0, memory).value();
}

struct Step {
    int stage;
    std::int64_t tile;
    int lane;
};

class TileLanesTest : public testing::Test {
protected:
    // Pauses `pauses` times and notes each stage.
    TileTask pausing(Tile tile, int pauses) {
        ++under_way_;
        most_under_way_ = std::max(most_under_way_, under_way_);
        for (int stage = 0; stage < pauses; ++stage) {
            note(stage, tile);
            co_await Arrival(true, [] {});
        }
        note(pauses, tile);
        --under_way_;
    }
    void note(int stage, const Tile& tile) {
        steps_.push_back({stage, tile.range.first / kTile, tile.lane});
    }
    std::vector<std::int64_t> tiles_of(int stage) const {
        std::vector<std::int64_t> tiles;
        for (const Step& step : steps_) {
            if (step.stage == stage) tiles.push_back(step.tile);
        }
        return tiles;
    }
    template <typename Work>
    void run(int lanes, Work work) {
        Windows(rig_.memory, layout_, lanes).for_each(work);
    }

    const RankLayout layout_ = layout_of_seven_tiles();
    test::MemoryRig rig_{layout_.memory};
    std::vector<Step> steps_;
    int under_way_ = 0;
    int most_under_way_ = 0;
};

TEST_F(TileLanesTest, EveryStageSeesTheTilesAscending) {
    for (int lanes = 1; lanes <= 3; ++lanes) {
        for (int pauses = 0; pauses <= 4; ++pauses) {
            SCOPED_TRACE(format("{} lanes, {} pauses", lanes, pauses));
            steps_.clear();
            most_under_way_ = 0;
            run(lanes, [&](const Tile& tile) { return pausing(tile, pauses); });
            for (int stage = 0; stage <= pauses; ++stage)
                EXPECT_THAT(tiles_of(stage), ElementsAre(0, 1, 2, 3, 4, 5, 6)) << "stage " << stage;
            EXPECT_EQ(most_under_way_, pauses == 0 ? 1 : lanes);
        }
    }
}

TEST_F(TileLanesTest, ATileThatPausesLetsTheNextOneWork) {
    run(2, [&](const Tile& tile) { return pausing(tile, 1); });
    ASSERT_GE(steps_.size(), 4u);
    const auto is = [&](std::size_t step, int stage, std::int64_t tile) {
        return steps_[step].stage == stage && steps_[step].tile == tile;
    };
    EXPECT_TRUE(is(0, 0, 0));
    EXPECT_TRUE(is(1, 0, 1)) << "while the first one waits";
    EXPECT_TRUE(is(2, 1, 0));
    EXPECT_TRUE(is(3, 0, 2)) << "as soon as there is room";
}

TEST_F(TileLanesTest, TilesUnderWayHaveScratchOfTheirOwn) {
    run(2, [&](const Tile& tile) { return pausing(tile, 2); });
    for (const Step& step : steps_)
        EXPECT_EQ(step.lane, step.tile % 2);
}

// As the block's kept tiles do: they leave out an exchange, but pause instead.
TEST_F(TileLanesTest, KeptTilesThatPauseKeepStep) {
    const auto kept = [&](Tile tile) -> TileTask {
        co_await Arrival(true, [] {});
        note(1, tile);
    };
    run(2, [&](const Tile& tile) {
        return tile.range.first % (3 * kTile) == 0 ? kept(tile) : pausing(tile, 1);
    });
    EXPECT_THAT(tiles_of(0), ElementsAre(1, 2, 4, 5));
    EXPECT_THAT(tiles_of(1), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST_F(TileLanesTest, ATileThatPausesLessThanTheOneInFrontIsRefused) {
    EXPECT_THROW(
        run(2, [&](const Tile& tile) { return pausing(tile, tile.range.first == 0 ? 3 : 1); }),
        CheckError);
}

TEST_F(TileLanesTest, ATaskThatAwaitsAnotherPausesWithIt) {
    const auto outer = [&](Tile tile) -> TileTask {
        note(10, tile);
        co_await pausing(tile, 1);
        note(11, tile);
        co_await pausing(tile, 0);
        co_await Arrival(true, [] {});
        note(12, tile);
    };
    run(2, outer);
    for (const int stage : {10, 1, 11, 12})
        EXPECT_THAT(tiles_of(stage), ElementsAre(0, 1, 2, 3, 4, 5, 6)) << "stage " << stage;
}

TEST_F(TileLanesTest, AnArrivalGivesItsResultWhenTheTileGoesOn) {
    std::vector<std::int64_t> results;
    run(2, [&](Tile tile) -> TileTask {
        const auto result = [&](const Tile& of, std::size_t seen) {
            return std::pair(of.range.first / kTile, seen);
        };
        const std::size_t before = results.size();
        const auto [index, seen] = co_await Arrival(true, [&] { return result(tile, before); });
        EXPECT_LE(seen, results.size());
        results.push_back(index);
    });
    EXPECT_THAT(results, ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

// Throws in a stage of a tile, which may be the one behind another.
class TileErrors : public TileLanesTest, public testing::WithParamInterface<std::tuple<int, int>> {
protected:
    TileTask failing(Tile tile, bool inside) {
        const auto [bad_tile, bad_stage] = GetParam();
        for (int stage = 0; stage < 3; ++stage) {
            note(stage, tile);
            if (tile.range.first == bad_tile * kTile && stage == bad_stage) {
                if (inside) co_await throwing();
                throw std::runtime_error("bad tile");
            }
            co_await Arrival(true, [] {});
        }
    }
    static TileTask throwing() {
        co_await Arrival(true, [] {});
        throw std::runtime_error("bad inside");
    }
    std::string error_of(int lanes, bool inside) {
        try {
            run(lanes, [&](const Tile& tile) { return failing(tile, inside); });
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return "none";
    }
};

TEST_P(TileErrors, EndTheLoop) {
    for (const int lanes : {1, 2}) {
        EXPECT_EQ(error_of(lanes, false), "bad tile");
        EXPECT_EQ(error_of(lanes, true), "bad inside");
    }
}

INSTANTIATE_TEST_SUITE_P(, TileErrors,
                         testing::Combine(testing::Values(0, 1, 6), testing::Values(0, 1, 2)),
                         [](const auto& info) {
                             return format("Tile{}Stage{}", std::get<0>(info.param),
                                           std::get<1>(info.param));
                         });

// With two chunks open, tiles under way in both find their rows.
TEST_F(TileLanesTest, EveryTileUnderWayHasItsRows) {
    TokenStore from = working_store(rig_.memory, {"from"}, DType::f64, {layout_.local_tokens, 1});
    TokenStore to = working_store(rig_.memory, {"to"}, DType::f64, {layout_.local_tokens, 1});
    std::vector<double> expected;
    {
        Windows windows(rig_.memory, layout_);
        const TileWindow out = windows.write(from, Rows::tokens);
        windows.for_each([&](const Tile& tile) {
            std::vector<double> numbers;
            for (std::int64_t i = 0; i < tile.range.count; ++i)
                numbers.push_back(static_cast<double>(tile.range.first + i));
            rig_.ops(Copy{rig_.rows(numbers, 1), out(tile)});
            expected.insert(expected.end(), numbers.begin(), numbers.end());
        });
    }
    {
        Windows windows(rig_.memory, layout_, 2);
        const TileWindow in = windows.read(from, Rows::tokens);
        const TileWindow out = windows.write(to, Rows::tokens);
        windows.for_each([&](Tile tile) -> TileTask {
            co_await Arrival(true, [] {});
            rig_.ops(Copy{in(tile), out(tile)});
            co_await Arrival(true, [] {});
            rig_.ops(Add{in(tile), out(tile)});
        });
    }
    Tensor seen(rig_.kernels->device(), MemoryKind::data, DType::f64, {layout_.local_tokens, 1});
    {
        Windows windows(rig_.memory, layout_);
        const TileWindow in = windows.read(to, Rows::tokens);
        windows.for_each([&](const Tile& tile) { rig_.ops(Copy{in(tile), at(seen, tile.range)}); });
    }
    for (double& number : expected)
        number *= 2;
    EXPECT_EQ(rig_.first_of_rows(seen), expected);
}

}  // namespace
}  // namespace rm
