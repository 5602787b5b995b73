#pragma once

#include <string>
#include <vector>

#include "spec/machine/roots.h"
#include "worker/roots/root_paths.h"

// Operations in a root's own directory: its facts, and the small files that show workers whether
// they share it.
namespace rm {

// All fields but the write speed.
RootInfo look_at_root(const DeclaredRoot& root);

// Writes, syncs and removes 16 MiB; 0 on failure.
Bytes measure_write_speed(const RootInfo& root);

constexpr const char* kNoncePrefix = ".ringmaster-nonce-";

// `nonce` consists of letters, digits and '-' (else INVALID_ARGUMENT): it becomes a file's name.
Status write_nonce(const std::string& directory, const std::string& nonce);
Result<bool> has_nonce(const std::string& directory, const std::string& nonce);
void remove_nonce(const std::string& directory, const std::string& nonce);
// Removes files older than ten minutes, which killed workers have left.
void remove_old_nonces(const std::string& directory);

// Space below `directory` for users other than root.
Bytes free_space(const std::string& directory);

}  // namespace rm
