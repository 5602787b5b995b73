#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace rm {

// A count, an index or an enumerator as the standard library's containers take it.
template <typename T>
requires std::integral<T> || std::is_enum_v<T>
constexpr std::size_t usize(T value) {
    return static_cast<std::size_t>(value);
}

}  // namespace rm
