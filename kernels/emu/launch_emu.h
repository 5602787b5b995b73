#pragma once

#include <type_traits>

namespace rm {

template <typename K>
void launch(const Launch& where, simt::Extent grid, const typename K::Params& params) {
    static_assert(std::is_trivially_copyable_v<typename K::Params>);
    static_assert(sizeof(typename K::Params) <= 4096, "kernel parameters are at most 4 KB");
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
    constexpr std::size_t kShared =
        std::is_empty_v<typename K::Shared> ? 0 : sizeof(typename K::Shared);
    if (where.log != nullptr) where.log->kernel(where.op, K::kName, grid, K::kThreads, kShared);
    where.stream.enqueue(K::kName, [grid, params, emulation = where.emulation] {
        const auto body = [&params](void* shared) {
            K::run(params, *static_cast<typename K::Shared*>(shared));
        };
        simt::emulate(grid, K::kThreads, kShared, body, emulation);
    });
}

}  // namespace rm
