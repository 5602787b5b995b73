#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/join/join_store.h"
#include "service/security/authenticator.h"
#include "service/security/pki.h"

namespace rm {

struct JoinOptions {
    std::optional<KeyPair> authority;  // for nodes; none: no machine can join
    Seconds lifetime{30 * 86400.0};    // of the certificates that it issues
};

// A machine that asks to become a node, or a node that asks to stay one.
struct JoinCall {
    std::string name;     // wanted; of a renewal: the node's id
    std::string request;  // PKCS #10
    std::string address;  // of the caller
    WallTime now;
};
struct Joined {
    NodeId node;
    std::string certificate;  // with its authority behind it
};

// The tokens with which machines join, their certificates, and those taken back. Thread safe.
class JoinBook final : public IssuedCredentials {
public:
    // `random` names nodes. INVALID_ARGUMENT: the authority is none for nodes.
    static Result<std::unique_ptr<JoinBook>> open(std::unique_ptr<JoinStore> store,
                                                  JoinOptions options,
                                                  std::function<std::uint64_t()> random);

    std::optional<std::string> join_token(const std::string& hash) const override;
    Status check_certificate(const CertificateFacts& facts) const override;

    // FAILED_PRECONDITION: there is no authority for nodes; says what to do.
    Status check_can_join() const;
    // The kept token and the secret.
    struct NewToken {
        JoinToken kept;
        std::string secret;
    };
    Result<NewToken> create(const std::string& creator, WallTime now, Seconds valid, int uses);
    Result<std::vector<JoinToken>> tokens();
    // `id` may be a prefix. NOT_FOUND, or INVALID_ARGUMENT when several begin with it.
    Result<JoinToken> revoke(const std::string& id, WallTime now);

    // UNAUTHENTICATED says why the token admits no machine.
    Result<Joined> join(const std::string& token_hash, const JoinCall& call);
    Result<Joined> renew(const JoinCall& call);

    // From now on no certificate of the node is accepted.
    Status remove(const NodeId& node, WallTime now);
    // Nodes that control.db knows as removed, at the start: join.db may be another one since.
    void deny(const NodeId& node);

private:
    JoinBook(std::unique_ptr<JoinStore> store, JoinOptions options,
             std::function<std::uint64_t()> random)
        : store_(std::move(store)), options_(std::move(options)), random_(std::move(random)) {}

    Result<NodeCertificate> issue(const NodeId& node, const JoinCall& call) const;
    Joined joined(const NodeCertificate& certificate) const;
    NodeId new_node(const std::string& name) const;

    mutable std::mutex mutex_;  // guards store_ and removed_
    const std::unique_ptr<JoinStore> store_;
    const JoinOptions options_;
    const std::function<std::uint64_t()> random_;
    std::set<std::string> removed_;  // nodes
};

}  // namespace rm
