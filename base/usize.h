#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace rm {

// Converts a count, an index or an enumerator to the index type of standard containers.
template <typename T>
requires std::integral<T> || std::is_enum_v<T>
constexpr std::size_t usize(T value) {
    return static_cast<std::size_t>(value);
}

}  // namespace rm
