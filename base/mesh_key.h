#pragma once

#include <string_view>

#include "base/result.h"

namespace rm {

// Renames the key in an error of Mesh::make() or check_mesh() if the mesh stands under another key:
// `mesh.ring: 0 must be ...` becomes `parallel.ring: 0 must be ...`.
inline Error under_key(const Error& error, std::string_view key) {
    constexpr std::string_view kOwn = "mesh";
    const std::string_view message = error.message;
    if (!message.starts_with(kOwn)) return error;
    return make_error(error.code, "{}{}", key, message.substr(kOwn.size()));
}

}  // namespace rm
