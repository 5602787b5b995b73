#pragma once

#include <string>

#include "base/result.h"
#include "service/security/client_security.h"
#include "service/security/pki.h"

namespace rm {

constexpr const char* kNodePkiDirectory = "pki";  // in a worker's state directory

// The credentials of a node that has joined: ca.crt, worker.crt and worker.key in a directory of
// the worker's state.
class NodePki {
public:
    explicit NodePki(std::string directory) : directory_(std::move(directory)) {}

    std::string ca() const { return directory_ + "/ca.crt"; }
    std::string certificate() const { return directory_ + "/worker.crt"; }
    std::string key() const { return directory_ + "/worker.key"; }

    // Whether this node has joined. Completes a renewal that a crash has cut in half.
    Result<bool> has_joined() const;
    ClientSecurity security(const std::string& server_name) const;

    // The key for the first certificate, the same one until that is there: a request that is
    // repeated, even after a restart, takes no second use of a token.
    Result<std::string> first_key() const;
    Status keep_ca(const std::string& pem) const;
    Status keep_first(const std::string& certificate) const;
    // Puts both in the place of the old ones.
    Status replace(const KeyPair& pair) const;

private:
    const std::string directory_;
};

}  // namespace rm
