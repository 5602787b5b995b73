#include "kernels/simt/simt_emu.h"

#include <cstring>

#include "base/format.h"
#include "kernels/simt/block.h"

namespace rm::simt {
namespace {

// One 8x8 tile's row of 16-bit elements.
struct TileRow {
    std::uint16_t elements[8];
};
struct Registers {
    std::uint32_t r[4];
};

// PTX ISA, "ldmatrix": lanes 8i .. 8i+7 name the rows of tile i; lane l gets, of every tile,
// elements (l / 4, 2 (l % 4)) and the next one, or of the transposed tile.
void scatter_tiles(const Slot* in, Slot* out, const void* transposed) {
    std::uint16_t tiles[4][8][8];
    for (int lane = 0; lane < 32; ++lane) {
        const auto row = load<TileRow>(in[lane]);
        std::memcpy(tiles[lane / 8][lane % 8], row.elements, sizeof(row.elements));
    }
    for (int lane = 0; lane < 32; ++lane) {
        Registers mine{};
        const int row = lane / 4, column = 2 * (lane % 4);
        for (int i = 0; i < 4; ++i) {
            const auto& t = tiles[i];
            const bool trans = *static_cast<const bool*>(transposed);
            const std::uint32_t low = trans ? t[column][row] : t[row][column];
            const std::uint32_t high = trans ? t[column + 1][row] : t[row][column + 1];
            mine.r[i] = low | high << 16;
        }
        store(out[lane], mine);
    }
}

void load_tiles(std::uint32_t (&r)[4], const void* row, bool transposed, Place place) {
    if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0)
        throw EmulatorError(
            format("ldmatrix at line {}: a row that is not 16-byte aligned", place.line));
    Slot mine;
    TileRow elements;
    std::memcpy(&elements, row, sizeof(elements));
    store(mine, elements);
    const auto got =
        load<Registers>(current_block().gather(mine, &scatter_tiles, &transposed, place));
    std::memcpy(r, got.r, sizeof(got.r));
}

float from_half_bits(std::uint32_t packed, int high) {
    const std::uint32_t bits = high != 0 ? packed & 0xffff0000u : packed << 16;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

struct Operands {
    float c[4];
    std::uint32_t a[4];
    std::uint32_t b[2];
};
struct Sums {
    float d[4];
};

// PTX ISA, "mma.m16n8k16": a is 16x16, b 16x8, c and d 16x8; lane l has g = l / 4, t = 2 (l % 4).
void product_bf16(const Slot* in, Slot* out, const void*) {
    float a[16][16], b[8][16], c[16][8];
    for (int lane = 0; lane < 32; ++lane) {
        const auto x = load<Operands>(in[lane]);
        const int g = lane / 4, t = 2 * (lane % 4);
        for (int h = 0; h < 2; ++h) {
            a[g][t + h] = from_half_bits(x.a[0], h);
            a[g + 8][t + h] = from_half_bits(x.a[1], h);
            a[g][t + 8 + h] = from_half_bits(x.a[2], h);
            a[g + 8][t + 8 + h] = from_half_bits(x.a[3], h);
            b[g][t + h] = from_half_bits(x.b[0], h);
            b[g][t + 8 + h] = from_half_bits(x.b[1], h);
            c[g][t + h] = x.c[h];
            c[g + 8][t + h] = x.c[2 + h];
        }
    }
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 8; ++j) {
            float sum = 0;
            for (int k = 0; k < 16; ++k)
                sum += a[i][k] * b[j][k];
            c[i][j] += sum;
        }
    }
    for (int lane = 0; lane < 32; ++lane) {
        const int g = lane / 4, t = 2 * (lane % 4);
        store(out[lane], Sums{{c[g][t], c[g][t + 1], c[g + 8][t], c[g + 8][t + 1]}});
    }
}

void exchange_bits(const Slot* in, Slot* out, const void*) {
    struct Offer {
        std::uint64_t value;
        int from;
    };
    for (int lane = 0; lane < 32; ++lane) {
        const auto mine = load<Offer>(in[lane]);
        store(out[lane], load<Offer>(in[mine.from & 31]).value);
    }
}

void count_votes(const Slot* in, Slot* out, const void*) {
    std::uint32_t votes = 0;
    for (int lane = 0; lane < 32; ++lane)
        votes |= static_cast<std::uint32_t>(load<bool>(in[lane])) << lane;
    for (int lane = 0; lane < 32; ++lane)
        store(out[lane], votes);
}

}  // namespace

int thread() {
    return current_block().running().index;
}
int block_x() {
    return current_block().at().x;
}
int block_y() {
    return current_block().at().y;
}
int block_z() {
    return current_block().at().z;
}
int grid_x() {
    return current_block().grid().x;
}

void sync_block(Place place) {
    current_block().sync(place);
}
void sync_warp(Place place) {
    ballot(true, place);
}

std::uint64_t detail::exchange(std::uint64_t value, int from, Place place) {
    struct Offer {
        std::uint64_t value;
        int from;
    };
    Slot mine;
    store(mine, Offer{value, from});
    return load<std::uint64_t>(current_block().gather(mine, &exchange_bits, nullptr, place));
}

std::uint32_t ballot(bool b, Place place) {
    Slot mine;
    store(mine, b);
    return load<std::uint32_t>(current_block().gather(mine, &count_votes, nullptr, place));
}

void cp_async_16(void* dst, const void* src, int bytes, Place place) {
    const auto bits = reinterpret_cast<std::uintptr_t>(dst) | reinterpret_cast<std::uintptr_t>(src);
    if (bits % 16 != 0)
        throw EmulatorError(format("cp_async_16 at line {}: not 16-byte aligned", place.line));
    std::memset(dst, 0xff, 16);
    current_block().running().open.push_back({dst, src, bytes});
}

void cp_async_commit() {
    Thread& thread = current_block().running();
    thread.groups.push_back(std::move(thread.open));
    thread.open.clear();
}

void cp_async_wait_at_most(int groups) {
    Thread& thread = current_block().running();
    while (static_cast<int>(thread.groups.size()) > groups) {
        for (const AsyncCopy& copy : thread.groups.front()) {
            std::memset(copy.dst, 0, 16);
            if (copy.bytes > 0)
                std::memcpy(copy.dst, copy.src, static_cast<std::size_t>(copy.bytes));
        }
        thread.groups.pop_front();
    }
}

void ldmatrix_x4(std::uint32_t (&r)[4], const void* row, Place place) {
    load_tiles(r, row, false, place);
}
void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row, Place place) {
    load_tiles(r, row, true, place);
}

void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              Place place) {
    Operands mine;
    std::memcpy(mine.c, d, sizeof(mine.c));
    std::memcpy(mine.a, a, sizeof(mine.a));
    std::memcpy(mine.b, b, sizeof(mine.b));
    Slot slot;
    store(slot, mine);
    Block& block = current_block();
    if (lane() == 0) block.count_product();
    const auto got = load<Sums>(block.gather(slot, &product_bf16, nullptr, place));
    std::memcpy(d, got.d, sizeof(got.d));
}

}  // namespace rm::simt
