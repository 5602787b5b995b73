#include "worker/join/node_pki.h"

#include <cstdio>
#include <filesystem>

#include "service/state_dir.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNext = ".next";

Status rename_to(const std::string& from, const std::string& to) {
    std::error_code failure;
    fs::rename(from, to, failure);
    if (!failure) return {};
    return make_error(ErrorCode::unavailable, "cannot rename {} to {}: {}", from, to,
                      failure.message());
}

}  // namespace

Result<bool> NodePki::has_joined() const {
    std::error_code failure;
    if (!fs::exists(certificate(), failure)) return false;
    const auto pair = read_key_pair(certificate(), key());
    if (pair) return true;
    // replace() puts the key in its place first.
    if (!read_key_pair(certificate() + kNext, key())) return pair.error();
    RM_RETURN_IF_ERROR(rename_to(certificate() + kNext, certificate()));
    return true;
}

ClientSecurity NodePki::security(const std::string& server_name) const {
    return {.ca = ca(),
            .certificate = certificate(),
            .key = key(),
            .token_file = {},
            .server_name = server_name};
}

Result<std::string> NodePki::first_key() const {
    std::error_code failure;
    fs::create_directories(directory_, failure);
    if (failure) {
        return make_error(ErrorCode::unavailable, "cannot make {}: {}", directory_,
                          failure.message());
    }
    const auto known = read_small_file(key());
    if (known || known.error().code != ErrorCode::not_found) return known;
    RM_TRY(std::string made, make_private_key());
    RM_RETURN_IF_ERROR(write_file_atomically(key(), made));
    return made;
}

Status NodePki::keep_ca(const std::string& pem) const {
    return write_file_atomically(ca(), pem);
}

Status NodePki::keep_first(const std::string& pem) const {
    return write_file_atomically(certificate(), pem);
}

Status NodePki::replace(const KeyPair& pair) const {
    RM_RETURN_IF_ERROR(write_file_atomically(key() + kNext, pair.key));
    RM_RETURN_IF_ERROR(write_file_atomically(certificate() + kNext, pair.certificate));
    RM_RETURN_IF_ERROR(rename_to(key() + kNext, key()));
    return rename_to(certificate() + kNext, certificate());
}

}  // namespace rm
