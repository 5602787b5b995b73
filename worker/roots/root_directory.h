#pragma once

#include <string>
#include <vector>

#include "base/roots.h"
#include "worker/roots/root_paths.h"

// What is done in a root's own directory: looking at it, and the small files with which workers
// find out whether they have the same one.
namespace rm {

// Everything but the write speed.
RootInfo look_at_root(const DeclaredRoot& root);

// Writes, syncs and removes 16 MiB; 0 where it cannot.
Bytes measure_write_speed(const RootInfo& root);

constexpr const char* kNoncePrefix = ".ringmaster-nonce-";

// `nonce` is letters, digits and '-', or it is INVALID_ARGUMENT: it becomes a file's name.
Status write_nonce(const std::string& directory, const std::string& nonce);
Result<bool> has_nonce(const std::string& directory, const std::string& nonce);
void remove_nonce(const std::string& directory, const std::string& nonce);
// What a worker that was killed has left, after ten minutes.
void remove_old_nonces(const std::string& directory);

// Space for whoever is not root, below `directory`.
Bytes free_space(const std::string& directory);

}  // namespace rm
