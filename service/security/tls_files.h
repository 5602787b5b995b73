#pragma once

#include <string>

#include "service/security/pki.h"

namespace rm {

// A certificate (or chain, its own first) and the key that belongs to it. INVALID_ARGUMENT names
// the file that is wrong, or both when they do not belong together.
Result<KeyPair> read_key_pair(const std::string& certificate_path, const std::string& key_path);

}  // namespace rm
