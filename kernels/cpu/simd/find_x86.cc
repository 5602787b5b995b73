#include <cpuid.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "kernels/cpu/simd/with_tiles.h"

namespace rm {
namespace simd_base {
const simd::Loops& loops();
}
namespace simd_avx2 {
const simd::Loops& loops();
}
namespace simd_avx512 {
const simd::Loops& loops();
}
namespace simd_avx512_bf16 {
const simd::Loops& loops();
}
namespace simd_tile_model {
simd::ProductLoops products_in_tiles();
simd::AttentionLoops attention_in_tiles(const simd::AttentionLoops& bf16);
}  // namespace simd_tile_model
namespace simd_amx {
simd::ProductLoops products_in_tiles();
simd::AttentionLoops attention_in_tiles(const simd::AttentionLoops& bf16);
}  // namespace simd_amx
}  // namespace rm

namespace rm::simd {

namespace {

bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

// Whether the CPU has tiles of bf16 (Intel SDM, CPUID leaf 7: EDX bits 22 and 24) and the kernel
// lets this process use their state, which it has to be asked for once.
bool ask_for_tiles() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
    if ((edx & kBf16) == 0 || (edx & kTile) == 0) return false;
#if defined(__linux__)
    constexpr long kAskForState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XTILEDATA
    return syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
#else
    return false;
#endif
}
bool has_amx() {
    static const bool has = ask_for_tiles();
    return has && has_avx512() && __builtin_cpu_supports("avx512bf16");
}

const Loops& amx_loops() {
    const Loops& bf16 = simd_avx512_bf16::loops();
    static const Loops kLoops = with_tiles(bf16, "simd_amx", simd_amx::products_in_tiles(),
                                           simd_amx::attention_in_tiles(bf16.attention_widened));
    return kLoops;
}
const Loops& tile_model_loops() {
    const Loops& base = simd_base::loops();
    static const Loops kLoops =
        with_tiles(base, "simd_tile_model", simd_tile_model::products_in_tiles(),
                   simd_tile_model::attention_in_tiles(base.attention_widened));
    return kLoops;
}

}  // namespace

// Asks for the flags that each copy is compiled with in CMakeLists.txt.
const Loops* find_loops(Width width) {
    switch (width) {
        case Width::amx:
            return has_amx() ? &amx_loops() : nullptr;
        case Width::tile_model:
            return &tile_model_loops();
        case Width::avx512_bf16:
            if (!has_avx512() || !__builtin_cpu_supports("avx512bf16")) break;
            return &simd_avx512_bf16::loops();
        case Width::avx512:
            if (!has_avx512()) break;
            return &simd_avx512::loops();
        case Width::avx2:
            if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) break;
            return &simd_avx2::loops();
        case Width::base:
            return &simd_base::loops();
    }
    return nullptr;
}

bool has_fast_pairs() {
    if (!__builtin_cpu_supports("avx512bf16")) return false;
    return !__builtin_cpu_is("intel") || __builtin_cpu_is("cooperlake");
}

}  // namespace rm::simd
