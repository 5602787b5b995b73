#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "controller/store/sqlite.h"

namespace rm {

struct JoinToken {
    std::string id;    // the first digits of the hash
    std::string hash;  // SHA-256
    std::string creator;
    WallTime created;
    WallTime expires;
    int uses = 1;  // allowed
    int used = 0;
    std::optional<WallTime> revoked;
};

// A certificate that this controller has issued to a node.
struct NodeCertificate {
    std::string serial;
    NodeId node;
    std::string token;    // the id of the one it joined with; empty: a renewal
    std::string key;      // SHA-256 of its public key
    std::string address;  // of the caller
    WallTime issued;
    WallTime expires;
    std::optional<WallTime> revoked;
    std::string pem;
};

// join.db: join tokens by their hash, and the certificates that came of them. A file of its own,
// because a restore of control.db must bring back no token and no certificate. Backups do not hold
// it, and it may be lost: its tokens are unknown then, and nodes that were removed stay so in
// control.db; certificates that are left keep working and are renewed. Not thread safe.
class JoinStore {
public:
    static Result<std::unique_ptr<JoinStore>> open(const std::string& path);

    Status add(const JoinToken& token);
    Result<std::vector<JoinToken>> tokens();  // newest first
    Result<std::optional<JoinToken>> find_token(const std::string& hash);
    Status revoke_token(const std::string& id, WallTime now);

    // Takes one use of a token and keeps the certificate, both or neither. UNAUTHENTICATED: the
    // token is unknown, revoked, expired or used up.
    Status take_use(const std::string& hash, const NodeCertificate& certificate);
    // The certificate that this key has got with this token, unless revoked.
    Result<std::optional<NodeCertificate>> find_joined(const std::string& token,
                                                       const std::string& key);
    Status add(const NodeCertificate& certificate);
    Result<std::vector<NodeCertificate>> certificates_of(const NodeId& node);
    Status revoke_node(const NodeId& node, WallTime now);
    Result<std::vector<NodeId>> revoked_nodes();
    // Forgets certificates that have expired, and tokens that have been of no use, since `before`.
    Status forget(WallTime before);

private:
    explicit JoinStore(Database database) : database_(std::move(database)) {}

    Database database_;
};

// Says why a token admits no machine at this time.
Status check_usable(const JoinToken& token, WallTime now);

}  // namespace rm
