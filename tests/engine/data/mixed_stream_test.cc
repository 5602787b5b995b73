#include "engine/data/mixed_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <set>

#include "base/random.h"
#include "tests/engine/data/text_files.h"

namespace rm {
namespace {

using testing::HasSubstr;

// Source i is a few documents of the letter 'a' + i.
class MixedStreamTest : public testing::Test {
protected:
    MixedStreamTest() {
        for (int i = 0; i < 3; ++i) {
            for (int n = 0; n < 4; ++n) {
                write_text(dir_ / format("{}/{}.txt", i, n),
                           std::string(static_cast<std::size_t>(50 + 17 * n), letter(i)));
            }
            sources_.push_back(byte_source(dir_ / format("{}", i)));
        }
    }
    static char letter(int source) { return static_cast<char>('a' + source); }

    MixedStream mix(const std::vector<double>& proportions, std::uint64_t seed) const {
        std::vector<MixedStream::Part> parts;
        for (std::size_t i = 0; i < proportions.size(); ++i) {
            parts.push_back({TokenStream(*sources_[i], split_held_out(*sources_[i], 0, 0)->train,
                                         seed + i, 257),
                             proportions[i]});
        }
        return {std::move(parts), seed};
    }

    TempDir dir_;
    std::vector<std::unique_ptr<ByteSource>> sources_;
};

// Which source a sample came from.
std::size_t origin(const Sample& sample) {
    for (const TokenId token : sample.tokens) {
        if (token != 256) return static_cast<std::size_t>(token - 'a');
    }
    return 99;
}

std::string origins(MixedStream& stream, int count) {
    std::string order;
    for (int i = 0; i < count; ++i)
        order.push_back(static_cast<char>('a' + origin(stream.next(8).value())));
    return order;
}

TEST_F(MixedStreamTest, KeepsEverySourceAtItsShareAllAlong) {
    for (const std::vector<double>& proportions :
         {std::vector<double>{1}, {0.7, 0.3}, {5, 3, 2}, {0.98, 0.01, 0.01}, {1, 1, 1}}) {
        for (std::uint64_t seed = 0; seed < 5; ++seed) {
            MixedStream stream = mix(proportions, seed);
            double sum = 0;
            for (const double p : proportions)
                sum += p;
            std::vector<double> taken(proportions.size());
            for (int n = 1; n <= 2000; ++n) {
                taken[origin(stream.next(8).value())] += 1;
                for (std::size_t i = 0; i < taken.size(); ++i) {
                    const double share = n * proportions[i] / sum;
                    ASSERT_LE(std::abs(taken[i] - share), static_cast<double>(taken.size()))
                        << "seed " << seed << " source " << i << " of " << proportions.size();
                }
            }
        }
    }
}

TEST_F(MixedStreamTest, DependsOnSeedAndSharesOnly) {
    const auto order = [&](const std::vector<double>& proportions, std::uint64_t seed) {
        MixedStream stream = mix(proportions, seed);
        return origins(stream, 60);
    };
    EXPECT_EQ(order({2, 1, 1}, 7), order({2, 1, 1}, 7));
    EXPECT_EQ(order({2, 1, 1}, 7), order({0.5, 0.25, 0.25}, 7));
    EXPECT_NE(order({2, 1, 1}, 7), order({1, 1, 2}, 7));
    std::set<std::string> orders;
    for (std::uint64_t seed = 0; seed < 10; ++seed)
        orders.insert(order({2, 1, 1}, seed));
    EXPECT_GT(orders.size(), 2u);
}

TEST_F(MixedStreamTest, ContinuesFromAnyPositionExactly) {
    MixedStream straight = mix({5, 3, 2}, 3);
    for (int i = 0; i < 150; ++i) {
        const DataPosition position = data_position_from_json(to_json(straight.position())).value();
        MixedStream resumed = mix({5, 3, 2}, 3);
        const Status sought = resumed.seek(position);
        ASSERT_TRUE(sought) << sought.error().message;
        const std::int64_t context = 1 + i % 11;
        ASSERT_EQ(resumed.next(context)->tokens, straight.next(context)->tokens) << "sample " << i;
        ASSERT_EQ(resumed.position(), straight.position());
    }
}

TEST_F(MixedStreamTest, RefusesAPositionOfAnotherMix) {
    MixedStream three = mix({5, 3, 2}, 3);
    ASSERT_EQ(origins(three, 20).size(), 20u);
    const DataPosition position = three.position();
    EXPECT_THAT(mix({5, 3}, 3).seek(position).error().message, HasSubstr("it has 2 sources"));
    EXPECT_THAT(mix({5, 2, 3}, 3).seek(position).error().message,
                HasSubstr("the proportions were others"));
    DataPosition bad = position;
    bad.sources[2].stream.tokens += 1;
    const DataPosition before = three.position();
    EXPECT_FALSE(three.seek(bad));
    EXPECT_EQ(three.position(), before);
    bad = position;
    bad.sources[0].samples = -1;
    EXPECT_EQ(three.seek(bad).error().code, ErrorCode::failed_precondition);
}

TEST_F(MixedStreamTest, StaysWhereItWasWhenAFileChanges) {
    MixedStream stream = mix({1, 1, 1}, 3);
    ASSERT_EQ(origins(stream, 3).size(), 3u);
    const DataPosition before = stream.position();
    std::filesystem::remove_all(dir_.path());
    EXPECT_FALSE(stream.next(500));
    EXPECT_EQ(stream.position(), before);
}

TEST(DataPositionJson, NamesWhatIsMissing) {
    EXPECT_EQ(data_position_from_json({{"epoch", 1}}).error().message, "'sources' is missing");
    EXPECT_FALSE(data_position_from_json({{"sources", {{{"epoch", 1}}}}}));
}

}  // namespace
}  // namespace rm
