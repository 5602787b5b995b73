#include "controller/join/join_book.h"

#include <algorithm>
#include <cctype>

#include "service/log.h"

namespace rm {
namespace {

constexpr std::size_t kIdDigits = 10;
constexpr std::size_t kMaxName = 48;  // 64 bytes with the random part
constexpr int kMostUses = 100'000;
constexpr Seconds kLongest{365 * 86400.0};
// How long join.db tells of what has ended.
constexpr Seconds kRemembers{90 * 86400.0};

Status check_name(const std::string& name) {
    const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
    });
    if (plain && !name.empty() && name.size() <= kMaxName && name[0] != '-') return {};
    return invalid_argument(
        "name '{}': 1 to {} letters, digits, '-', '_' or '.', not beginning with '-'", name,
        kMaxName);
}

Status check_terms(Seconds valid, int uses) {
    if (!(valid.value >= 1 && valid <= kLongest))
        return invalid_argument("expires: {} s; 1 s to 365 d are possible", valid.value);
    if (uses < 1 || uses > kMostUses)
        return invalid_argument("uses: {}; 1 to {} are possible", uses, kMostUses);
    return {};
}

}  // namespace

Result<std::unique_ptr<JoinBook>> JoinBook::open(std::unique_ptr<JoinStore> store,
                                                 JoinOptions options,
                                                 std::function<std::uint64_t()> random) {
    std::unique_ptr<JoinBook> book(
        new JoinBook(std::move(store), std::move(options), std::move(random)));
    if (book->options_.authority) {
        // A trial shows at the start what would fail at the first join.
        RM_TRY(const std::string key, make_private_key());
        RM_TRY(const std::string request, make_signing_request(key));
        RM_TRY(const std::string tried,
               issue_for_node(*book->options_.authority, request,
                              {"trial", SystemClock().wall(), book->options_.lifetime}));
        RM_TRY(const ClientAuthority authority,
               ClientAuthority::parse("", book->options_.authority->certificate));
        RM_TRY(const CertificateFacts facts,
               within("--node-authority", authority.verify(tried, SystemClock().wall())));
    }
    RM_RETURN_IF_ERROR(book->store_->forget(SystemClock().wall() + Seconds{-kRemembers.value}));
    RM_TRY(const std::vector<NodeId> removed, book->store_->revoked_nodes());
    for (const NodeId& node : removed)
        book->removed_.insert(node.value);
    return book;
}

std::optional<std::string> JoinBook::join_token(const std::string& hash) const {
    const std::lock_guard lock(mutex_);
    const auto found = store_->find_token(hash);
    if (found) return *found ? std::optional((*found)->id) : std::nullopt;
    log_event(LogLevel::error, "join_store_unreadable", {{"reason", found.error().message}});
    return std::nullopt;
}

Status JoinBook::check_certificate(const CertificateFacts& facts) const {
    const std::lock_guard lock(mutex_);
    if (!removed_.contains(facts.name)) return {};
    return make_error(ErrorCode::unauthenticated,
                      "the certificate of '{}' ({}) is revoked: the node was removed", facts.name,
                      facts.serial);
}

Status JoinBook::check_can_join() const {
    if (options_.authority) return {};
    return make_error(ErrorCode::failed_precondition,
                      "no machine can join here: start the controller with --node-authority and "
                      "--node-authority-key (`ringmaster init` makes both)");
}

Result<JoinBook::NewToken> JoinBook::create(const std::string& creator, WallTime now, Seconds valid,
                                            int uses) {
    RM_RETURN_IF_ERROR(check_can_join());
    RM_RETURN_IF_ERROR(check_terms(valid, uses));
    NewToken made{.kept = {}, .secret = make_join_token()};
    const std::string hash = hash_token(made.secret);
    made.kept = {.id = hash.substr(0, kIdDigits),
                 .hash = hash,
                 .creator = creator,
                 .created = now,
                 .expires = now + valid,
                 .uses = uses,
                 .used = 0,
                 .revoked = std::nullopt};
    const std::lock_guard lock(mutex_);
    RM_RETURN_IF_ERROR(store_->add(made.kept));
    return made;
}

Result<std::vector<JoinToken>> JoinBook::tokens() {
    const std::lock_guard lock(mutex_);
    return store_->tokens();
}

Result<JoinToken> JoinBook::revoke(const std::string& id, WallTime now) {
    const std::lock_guard lock(mutex_);
    RM_TRY(std::vector<JoinToken> tokens, store_->tokens());
    std::erase_if(tokens, [&](const JoinToken& token) { return !token.id.starts_with(id); });
    if (id.empty() || tokens.empty())
        return make_error(ErrorCode::not_found, "no join token has the id '{}'", id);
    if (tokens.size() > 1)
        return invalid_argument("'{}' is the beginning of {} tokens' ids", id, tokens.size());
    RM_RETURN_IF_ERROR(store_->revoke_token(tokens.front().id, now));
    RM_TRY(const auto revoked, store_->find_token(tokens.front().hash));
    return *revoked;
}

NodeId JoinBook::new_node(const std::string& name) const {
    return {format("{}-{:08x}", name, static_cast<std::uint32_t>(random_()))};
}

Result<NodeCertificate> JoinBook::issue(const NodeId& node, const JoinCall& call) const {
    NodeCertificate made{.serial = {},
                         .node = node,
                         .token = {},
                         .key = {},
                         .address = call.address,
                         .issued = call.now,
                         .expires = call.now + options_.lifetime,
                         .revoked = std::nullopt,
                         .pem = {}};
    RM_TRY(made.key, requested_key(call.request));
    RM_TRY(made.pem, issue_for_node(*options_.authority, call.request,
                                    {node.value, call.now, options_.lifetime}));
    RM_TRY(made.serial, serial_of(made.pem));
    return made;
}

Joined JoinBook::joined(const NodeCertificate& certificate) const {
    return {certificate.node, certificate.pem + options_.authority->certificate};
}

Result<Joined> JoinBook::join(const std::string& token_hash, const JoinCall& call) {
    RM_RETURN_IF_ERROR(check_can_join());
    RM_RETURN_IF_ERROR(check_name(call.name));
    RM_TRY(const std::string key, requested_key(call.request));
    const std::lock_guard lock(mutex_);
    RM_TRY(const auto token, store_->find_token(token_hash));
    if (!token) return make_error(ErrorCode::unauthenticated, "the join token is not known here");
    // A worker that has lost the answer asks again with the same key.
    RM_TRY(const auto before, store_->find_joined(token->id, key));
    if (before && before->expires > call.now) return joined(*before);
    RM_RETURN_IF_ERROR(check_usable(*token, call.now));
    RM_TRY(NodeCertificate made, issue(new_node(call.name), call));
    made.token = token->id;
    RM_RETURN_IF_ERROR(store_->take_use(token_hash, made));
    return joined(made);
}

Result<Joined> JoinBook::renew(const JoinCall& call) {
    RM_RETURN_IF_ERROR(check_can_join());
    RM_TRY(const NodeCertificate made, issue({call.name}, call));
    const std::lock_guard lock(mutex_);
    if (removed_.contains(call.name)) {
        return make_error(ErrorCode::unauthenticated, "node {} was removed", call.name);
    }
    RM_RETURN_IF_ERROR(store_->add(made));
    return joined(made);
}

Status JoinBook::remove(const NodeId& node, WallTime now) {
    const std::lock_guard lock(mutex_);
    removed_.insert(node.value);
    return store_->revoke_node(node, now);
}

void JoinBook::deny(const NodeId& node) {
    const std::lock_guard lock(mutex_);
    removed_.insert(node.value);
}

}  // namespace rm
