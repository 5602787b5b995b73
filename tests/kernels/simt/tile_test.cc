#include "kernels/device/tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "kernels/bf16.h"
#include "kernels/simt/emulator.h"
#include "tests/kernels/simt/plain_tiles.h"
#include "tests/kernels/simt/seeds.h"

// Compares every op on tiles with the host's answer. Operands are small integers, so products are
// exact in any order.
namespace rm::device {
namespace {

struct Matrix {
    Matrix(int num_rows, int num_columns)
        : rows(num_rows),
          columns(num_columns),
          x(static_cast<std::size_t>(num_rows) * static_cast<std::size_t>(num_columns)) {}
    float& at(int i, int j) { return x[static_cast<std::size_t>(i * columns + j)]; }
    float at(int i, int j) const { return x[static_cast<std::size_t>(i * columns + j)]; }
    std::vector<std::uint16_t> bf16() const {
        std::vector<std::uint16_t> bits;
        for (const float value : x)
            bits.push_back(rm::to_bf16(value));
        return bits;
    }
    bool operator==(const Matrix&) const = default;
    int rows, columns;
    std::vector<float> x;
};

Matrix random_integers(int rows, int columns, std::uint32_t seed) {
    Matrix m(rows, columns);
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> draw(-8, 8);
    for (float& value : m.x)
        value = static_cast<float>(draw(random));
    return m;
}
Matrix transposed(const Matrix& m) {
    Matrix t(m.columns, m.rows);
    for (int i = 0; i < m.rows; ++i) {
        for (int j = 0; j < m.columns; ++j)
            t.at(j, i) = m.at(i, j);
    }
    return t;
}
Matrix product(const Matrix& a, const Matrix& b) {
    Matrix c(a.rows, b.columns);
    for (int i = 0; i < a.rows; ++i) {
        for (int k = 0; k < a.columns; ++k) {
            for (int j = 0; j < b.columns; ++j)
                c.at(i, j) += a.at(i, k) * b.at(k, j);
        }
    }
    return c;
}

// Runs `body(shared)` on one warp with every seed and gives it a fresh result each time.
template <typename Shared, typename Body>
void on_one_warp(const Body& body) {
    for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed) {
        SCOPED_TRACE(seed);
        body([&](const auto& kernel) {
            simt::emulate({}, 32, sizeof(Shared),
                          [&](void* raw) { kernel(*static_cast<Shared*>(raw)); }, {seed});
        });
    }
}

template <int kThreads, int kRows, int kColumns>
void bring(SharedTile<kRows, kColumns>& tile, const std::vector<std::uint16_t>& from) {
    load_async<kThreads>(tile, from.data(), kColumns, kRows);
    simt::cp_async_commit();
    simt::cp_async_wait<0>();
    simt::sync_block();
}

template <int kColumns>
struct Columns {
    static constexpr int kValue = kColumns;
};
template <typename C>
class SharedTiles : public ::testing::Test {};
using Widths = ::testing::Types<Columns<16>, Columns<32>, Columns<64>, Columns<128>>;
TYPED_TEST_SUITE(SharedTiles, Widths);

TYPED_TEST(SharedTiles, HoldEveryElementOnce) {
    constexpr int kColumns = TypeParam::kValue;
    std::set<std::uint16_t*> places;
    SharedTile<16, kColumns> tile;
    for (int row = 0; row < 16; ++row) {
        for (int column = 0; column < kColumns; ++column)
            places.insert(&tile.element(row, column));
    }
    EXPECT_EQ(places.size(), 16u * kColumns);
    EXPECT_EQ(*places.begin(), tile.x);
    EXPECT_EQ(*places.rbegin(), tile.x + 16 * kColumns - 1);
}

// One ldmatrix reads 8 rows of 16 bytes at once, so it must touch each of the 32 4-byte banks once.
TYPED_TEST(SharedTiles, GiveTheEightRowsOfAnLdmatrixTileDifferentBanks) {
    constexpr int kColumns = TypeParam::kValue;
    for (int row = 0; row < 16; row += 8) {
        for (int chunk = 0; chunk < kColumns / 8; ++chunk) {
            std::set<int> banks;
            for (int r = 0; r < 8; ++r)
                banks.insert(Swizzle<kColumns>::offset(row + r, chunk) * 2 / 16 % 8);
            EXPECT_EQ(banks.size(), 8u) << "rows from " << row << ", chunk " << chunk;
        }
    }
}

TYPED_TEST(SharedTiles, AViewNamesTheChunksOfTheTile) {
    constexpr int kColumns = TypeParam::kValue;
    SharedTile<64, kColumns> tile;
    for (int low = 0; low < 16; ++low) {
        for (int column = 0; column < kColumns; column += 8) {
            EXPECT_EQ(tile.at(16, 0).chunk(8, low, column), &tile.element(24 + low, column));
            EXPECT_EQ(tile.at(8, column).chunk(16, low, 0), &tile.element(24 + low, column));
        }
    }
}

TYPED_TEST(SharedTiles, LoadAsyncBringsTheRowsInsideAndZeroesTheOthers) {
    constexpr int kColumns = TypeParam::kValue, kStride = kColumns + 24;
    struct Shared {
        SharedTile<32, kColumns> tile;
    };
    for (const int num_rows : {0, 1, 19, 32}) {
        // Only the rows that may be read, so that the address sanitizer catches reads beyond.
        Matrix from = random_integers(num_rows, kStride, 1);
        from.x.resize(static_cast<std::size_t>(std::max(0, num_rows * kStride - 24)));
        const std::vector<std::uint16_t> bits = from.bf16();
        Matrix got(32, kColumns);
        const auto kernel = [&](void* raw) {
            auto& tile = static_cast<Shared*>(raw)->tile;
            load_async<64>(tile, bits.data(), kStride, num_rows);
            simt::cp_async_commit();
            simt::cp_async_wait<0>();
            simt::sync_block();
            for (int i = simt::thread(); i < 32 * kColumns; i += 64)
                got.at(i / kColumns, i % kColumns) =
                    rm::from_bf16(tile.element(i / kColumns, i % kColumns));
        };
        simt::emulate({}, 64, sizeof(Shared), kernel, {3});
        for (int i = 0; i < 32; ++i) {
            for (int j = 0; j < kColumns; ++j)
                EXPECT_EQ(got.at(i, j), i < num_rows ? from.at(i, j) : 0) << i << ", " << j;
        }
    }
}

template <int kM, int kN, int kK>
struct Sizes {
    static constexpr int M = kM, N = kN, K = kK;
};
template <typename S>
class TileProducts : public ::testing::Test {
protected:
    static constexpr int M = S::M, N = S::N, K = S::K;
    const Matrix a = random_integers(M, K, 1), b = random_integers(K, N, 2),
                 start = random_integers(M, N, 3);

    // Expects `multiply(c, shared)` to add a b to start; operands are stored as given.
    template <typename Shared, typename Multiply>
    void expect_product(const Matrix& kept_a, const Matrix& kept_b, const Multiply& multiply) {
        Matrix expected = product(a, b);
        for (std::size_t i = 0; i < expected.x.size(); ++i)
            expected.x[i] += start.x[i];
        const auto a_bits = kept_a.bf16(), b_bits = kept_b.bf16();
        on_one_warp<Shared>([&](const auto& run) {
            Matrix got(M, N);
            run([&](Shared& shared) {
                bring<32>(shared.a, a_bits);
                bring<32>(shared.b, b_bits);
                RegisterTile<M, N> c;
                load(c, start.x.data(), N, M);
                multiply(c, shared);
                store(got.x.data(), N, c, M);
            });
            EXPECT_EQ(got.x, expected.x);
        });
    }
};
using ProductSizes = ::testing::Types<Sizes<16, 16, 16>, Sizes<16, 64, 32>, Sizes<32, 16, 64>,
                                      Sizes<16, 128, 64>, Sizes<16, 64, 128>, Sizes<32, 32, 128>>;
TYPED_TEST_SUITE(TileProducts, ProductSizes);

template <int kRowsA, int kColumnsA, int kRowsB, int kColumnsB>
struct Operands {
    SharedTile<kRowsA, kColumnsA> a;
    SharedTile<kRowsB, kColumnsB> b;
};

TYPED_TEST(TileProducts, AB) {
    constexpr int M = TypeParam::M, N = TypeParam::N, K = TypeParam::K;
    using Shared = Operands<M, K, K, N>;
    this->template expect_product<Shared>(this->a, this->b, [](auto& c, Shared& s) {
        OperandTile<M, K> a;
        load(a, s.a.at(0, 0));
        mma_AB(c, a, s.b.at(0, 0));
    });
}

TYPED_TEST(TileProducts, ABt) {
    constexpr int M = TypeParam::M, N = TypeParam::N, K = TypeParam::K;
    using Shared = Operands<M, K, N, K>;
    const Matrix bt = transposed(this->b);
    this->template expect_product<Shared>(this->a, bt, [](auto& c, Shared& s) {
        OperandTile<M, K> a;
        load(a, s.a.at(0, 0));
        mma_ABt(c, a, s.b.at(0, 0));
    });
    this->template expect_product<Shared>(
        this->a, bt, [](auto& c, Shared& s) { mma_ABt<K>(c, s.a.at(0, 0), s.b.at(0, 0)); });
}

TYPED_TEST(TileProducts, AtB) {
    constexpr int M = TypeParam::M, N = TypeParam::N, K = TypeParam::K;
    using Shared = Operands<K, M, K, N>;
    const Matrix at = transposed(this->a);
    this->template expect_product<Shared>(
        at, this->b, [](auto& c, Shared& s) { mma_AtB<K>(c, s.a.at(0, 0), s.b.at(0, 0)); });
}

// c += a b for the parts of larger tiles that start at multiples of 8 rows and columns.
TEST(TileProducts, OfPartsOfTiles) {
    using Shared = Operands<64, 64, 64, 64>;
    const Matrix a = random_integers(64, 64, 1), b = random_integers(64, 64, 2);
    const auto a_bits = a.bf16(), b_bits = b.bf16();
    Matrix expected(16, 16);
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 16; ++j) {
            for (int k = 0; k < 32; ++k)
                expected.at(i, j) += a.at(24 + i, 8 + k) * b.at(16 + k, 40 + j);
        }
    }
    on_one_warp<Shared>([&](const auto& run) {
        Matrix got(16, 16);
        run([&](Shared& s) {
            bring<32>(s.a, a_bits);
            bring<32>(s.b, b_bits);
            RegisterTile<16, 16> c;
            fill(c, 0);
            OperandTile<16, 32> part;
            load(part, s.a.at(24, 8));
            mma_AB(c, part, s.b.at(16, 40));
            store(got.x.data(), 16, c, 16);
        });
        EXPECT_EQ(got.x, expected.x);
    });
}

struct NoShared {};
constexpr int kRows = 32, kColumns = 64;
using Tile = RegisterTile<kRows, kColumns>;

// Returns each row's values after `per_row(tile, values)`, starting from `start`, as each lane of
// the row holds them.
template <typename PerRow>
std::vector<std::vector<float>> values_of_rows(const Matrix& from, float start,
                                               const PerRow& per_row) {
    std::vector<std::vector<float>> got(kRows, std::vector<float>(4));
    const auto kernel = [&](void*) {
        Tile tile;
        load(tile, from.x.data(), kColumns, kRows);
        RowValues<kRows> values;
        fill(values, start);
        per_row(values, tile);
        for (int i = 0; i < kRows / 16; ++i) {
            for (int r = 0; r < 2; ++r)
                got[static_cast<std::size_t>(i * 16 + fragment_row(2 * r))]
                   [static_cast<std::size_t>(simt::lane() % 4)] = values.x[i][r];
        }
    };
    simt::emulate({}, 32, 0, kernel, {4});
    return got;
}

TEST(RegisterTiles, RowMaxMergesWhatTheValuesHold) {
    const Matrix from = random_integers(kRows, kColumns, 9);
    for (const float start : {-std::numeric_limits<float>::infinity(), 7.5f}) {
        const auto got = values_of_rows(
            from, start, [](auto& values, const Tile& tile) { row_max(values, tile); });
        for (int i = 0; i < kRows; ++i) {
            float largest = start;
            for (int j = 0; j < kColumns; ++j)
                largest = std::max(largest, from.at(i, j));
            EXPECT_EQ(got[static_cast<std::size_t>(i)], std::vector<float>(4, largest));
        }
    }
}

TEST(RegisterTiles, RowSumIsInEveryLaneOfTheRow) {
    const Matrix from = random_integers(kRows, kColumns, 9);
    const auto got =
        values_of_rows(from, 1000, [](auto& values, const Tile& tile) { row_sum(values, tile); });
    for (int i = 0; i < kRows; ++i) {
        float sum = 0;
        for (int j = 0; j < kColumns; ++j)
            sum += from.at(i, j);
        EXPECT_EQ(got[static_cast<std::size_t>(i)], std::vector<float>(4, sum));
    }
}

TEST(RegisterTiles, PartialSumsOfTheFourLanesAddUp) {
    const Matrix from = random_integers(kRows, kColumns, 9);
    const auto got = values_of_rows(
        from, 1, [](auto& values, const Tile& tile) { row_partial_sum(values, tile); });
    for (int i = 0; i < kRows; ++i) {
        float sum = 4, total = 0;
        for (int j = 0; j < kColumns; ++j)
            sum += from.at(i, j);
        for (const float part : got[static_cast<std::size_t>(i)])
            total += part;
        EXPECT_EQ(total, sum);
    }
}

// Loads a tile from `from`, applies `work` and returns the tile as stored.
template <typename T, typename Work>
std::vector<T> worked_on(const Matrix& from, int num_rows, const Work& work) {
    std::vector<T> got(static_cast<std::size_t>(num_rows * kColumns));
    const auto kernel = [&](void*) {
        Tile tile;
        load(tile, from.x.data(), kColumns, num_rows);
        work(tile);
        store(got.data(), kColumns, tile, num_rows);
    };
    simt::emulate({}, 32, 0, kernel, {2});
    return got;
}

TEST(RegisterTiles, ForEachNamesRowAndColumn) {
    const Matrix from = random_integers(kRows, kColumns, 5);
    const auto got = worked_on<float>(from, kRows, [](Tile& tile) {
        for_each(tile, [](float& x, int row, int column, int, int) {
            x += static_cast<float>(1000 * row + 10 * column);
        });
    });
    for (int i = 0; i < kRows * kColumns; ++i) {
        EXPECT_EQ(got[static_cast<std::size_t>(i)],
                  from.x[static_cast<std::size_t>(i)] +
                      static_cast<float>(1000 * (i / kColumns) + 10 * (i % kColumns)));
    }
}

TEST(RegisterTiles, ScaleRowsTakesOneFactorPerRow) {
    const Matrix from = random_integers(kRows, kColumns, 5);
    const auto got = worked_on<float>(from, kRows, [](Tile& tile) {
        RowValues<kRows> factor;
        for (int i = 0; i < kRows / 16; ++i) {
            for (int r = 0; r < 2; ++r)
                factor.x[i][r] = static_cast<float>(i * 16 + fragment_row(2 * r));
        }
        scale_rows(tile, factor);
    });
    for (int i = 0; i < kRows * kColumns; ++i)
        EXPECT_EQ(got[static_cast<std::size_t>(i)],
                  from.x[static_cast<std::size_t>(i)] * static_cast<float>(i / kColumns));
}

TEST(RegisterTiles, StoreAndLoadTouchTheRowsInsideOnly) {
    const Matrix from = random_integers(21, kColumns, 5);
    Tile rest;
    const auto got = worked_on<std::uint16_t>(from, 21, [&](Tile& tile) {
        if (simt::lane() == 31) rest = tile;
    });
    EXPECT_EQ(got, from.bf16());
    for (int j = 0; j < kColumns / 8; ++j)
        EXPECT_EQ(rest.x[1][j][2], 0) << "row 31 is outside";
}

// A tile converted in registers gives the same left operand as one through shared memory.
TEST(RegisterTiles, BecomeALeftOperandWithoutSharedMemory) {
    struct Shared {
        SharedTile<kRows, kColumns> a;
        SharedTile<kColumns, 32> b;
    };
    const Matrix a = random_integers(kRows, kColumns, 5), b = random_integers(kColumns, 32, 6);
    const auto b_bits = b.bf16();
    on_one_warp<Shared>([&](const auto& run) {
        Matrix direct(kRows, 32), around(kRows, 32);
        run([&](Shared& shared) {
            bring<32>(shared.b, b_bits);
            Tile tile;
            load(tile, a.x.data(), kColumns, kRows);
            OperandTile<kRows, kColumns> operand;
            to_operand(operand, tile);
            RegisterTile<kRows, 32> c;
            fill(c, 0);
            mma_AB(c, operand, shared.b.at(0, 0));
            store(direct.x.data(), 32, c, kRows);

            store(shared.a.at(0, 0), tile);
            simt::sync_warp();
            fill(c, 0);
            load(operand, shared.a.at(0, 0));
            mma_AB(c, operand, shared.b.at(0, 0));
            store(around.x.data(), 32, c, kRows);
        });
        EXPECT_EQ(direct.x, product(a, b).x);
        EXPECT_EQ(around.x, product(a, b).x);
    });
}

TEST(RegisterTiles, RoundToBf16ToNearestEven) {
    Matrix from(kRows, kColumns);
    std::mt19937 random(1);
    std::normal_distribution<float> draw;
    for (float& x : from.x)
        x = draw(random);
    EXPECT_EQ(worked_on<std::uint16_t>(from, kRows, [](Tile&) {}), from.bf16());
}

}  // namespace
}  // namespace rm::device
