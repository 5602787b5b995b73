#include "controller/join/join_store.h"

#include "controller/store/table.h"

namespace rm {

void columns(Like<JoinToken> auto& token, auto&& visit) {
    visit("id", token.id);
    visit("hash", token.hash);
    visit("creator", token.creator);
    visit("created", token.created);
    visit("expires", token.expires);
    visit("uses", token.uses);
    visit("used", token.used);
    visit("revoked", token.revoked);
}

void columns(Like<NodeCertificate> auto& certificate, auto&& visit) {
    visit("serial", certificate.serial);
    visit("node", certificate.node);
    visit("token", certificate.token);
    visit("key", certificate.key);
    visit("address", certificate.address);
    visit("issued", certificate.issued);
    visit("expires", certificate.expires);
    visit("revoked", certificate.revoked);
    visit("pem", certificate.pem);
}

namespace {

// Times are microseconds since the Unix epoch; 0: never.
constexpr const char* kJoin1 = R"sql(
CREATE TABLE tokens (
    id TEXT NOT NULL, hash TEXT PRIMARY KEY, creator TEXT NOT NULL,
    created INTEGER NOT NULL, expires INTEGER NOT NULL,
    uses INTEGER NOT NULL, used INTEGER NOT NULL, revoked INTEGER NOT NULL
) STRICT;
CREATE TABLE certificates (
    serial TEXT PRIMARY KEY, node TEXT NOT NULL, token TEXT NOT NULL, key TEXT NOT NULL,
    address TEXT NOT NULL, issued INTEGER NOT NULL, expires INTEGER NOT NULL,
    revoked INTEGER NOT NULL, pem TEXT NOT NULL
) STRICT;
CREATE INDEX certificates_by_node ON certificates (node);
CREATE INDEX certificates_by_token ON certificates (token, key);
)sql";
constexpr const char* kMigrations[] = {kJoin1};

template <typename Row, typename... Args>
Result<std::vector<Row>> select(Database& database, std::string_view rest, const Args&... args) {
    RM_TRY(Statement statement,
           database.prepare(format("SELECT {} {}", column_names<Row>().names, rest)));
    statement.bind_all(args...);
    return read_rows<Row>(statement);
}

template <typename Row>
std::optional<Row> first_of(std::vector<Row> rows) {
    return rows.empty() ? std::nullopt : std::optional(std::move(rows.front()));
}

template <typename Row>
Status insert(Database& database, std::string_view table, const Row& row) {
    const ColumnNames names = column_names<Row>();
    RM_TRY(Statement statement, database.prepare(format("INSERT INTO {} ({}) VALUES ({})", table,
                                                        names.names, names.marks)));
    return bind_row(statement, row).run();
}

template <typename... Args>
Status change(Database& database, const std::string& sql, const Args&... args) {
    RM_TRY(Statement statement, database.prepare(sql));
    return statement.bind_all(args...).run();
}

template <typename... Args>
Error refused(std::string_view pattern, const Args&... args) {
    return make_error(ErrorCode::unauthenticated, pattern, args...);
}

}  // namespace

Status check_usable(const JoinToken& token, WallTime now) {
    if (token.revoked) {
        return refused("the join token {} was revoked at {}", token.id, to_iso8601(*token.revoked));
    }
    if (token.expires <= now) {
        return refused("the join token {} expired at {}", token.id, to_iso8601(token.expires));
    }
    if (token.used >= token.uses) {
        return refused("the join token {} is used up: {} of {} uses are taken", token.id,
                       token.used, token.uses);
    }
    return {};
}

Result<std::unique_ptr<JoinStore>> JoinStore::open(const std::string& path) {
    RM_TRY(Database database, open_migrated(path, {kMigrations}, Durability::full));
    return std::unique_ptr<JoinStore>(new JoinStore(std::move(database)));
}

Status JoinStore::add(const JoinToken& token) {
    return insert(database_, "tokens", token);
}

Result<std::vector<JoinToken>> JoinStore::tokens() {
    return select<JoinToken>(database_, "FROM tokens ORDER BY created DESC, rowid DESC");
}

Result<std::optional<JoinToken>> JoinStore::find_token(const std::string& hash) {
    RM_TRY(auto rows, select<JoinToken>(database_, "FROM tokens WHERE hash = ?", hash));
    return first_of(std::move(rows));
}

Status JoinStore::revoke_token(const std::string& id, WallTime now) {
    return change(database_, "UPDATE tokens SET revoked = ? WHERE id = ? AND revoked = 0", now, id);
}

Status JoinStore::take_use(const std::string& hash, const NodeCertificate& certificate) {
    // BEGIN IMMEDIATE: of two callers with the last use, the second one reads it as taken.
    return database_.transaction([&]() -> Status {
        RM_TRY(const std::optional<JoinToken> token, find_token(hash));
        if (!token) return refused("the join token is not known here any more");
        RM_RETURN_IF_ERROR(check_usable(*token, certificate.issued));
        RM_RETURN_IF_ERROR(
            change(database_, "UPDATE tokens SET used = used + 1 WHERE hash = ?", hash));
        return add(certificate);
    });
}

Result<std::optional<NodeCertificate>> JoinStore::find_joined(const std::string& token,
                                                              const std::string& key) {
    RM_TRY(auto rows,
           select<NodeCertificate>(database_,
                                   "FROM certificates WHERE token = ? AND key = ? AND revoked = 0",
                                   token, key));
    return first_of(std::move(rows));
}

Status JoinStore::add(const NodeCertificate& certificate) {
    return insert(database_, "certificates", certificate);
}

Result<std::vector<NodeCertificate>> JoinStore::certificates_of(const NodeId& node) {
    return select<NodeCertificate>(database_, "FROM certificates WHERE node = ? ORDER BY issued",
                                   node);
}

Status JoinStore::revoke_node(const NodeId& node, WallTime now) {
    return change(database_, "UPDATE certificates SET revoked = ? WHERE node = ? AND revoked = 0",
                  now, node);
}

Result<std::vector<NodeId>> JoinStore::revoked_nodes() {
    RM_TRY(Statement statement,
           database_.prepare("SELECT DISTINCT node FROM certificates WHERE revoked <> 0"));
    std::vector<NodeId> nodes;
    while (true) {
        RM_TRY(const bool more, statement.step());
        if (!more) return nodes;
        nodes.push_back({statement.text(0)});
    }
}

Status JoinStore::forget(WallTime before) {
    return database_.transaction([&]() -> Status {
        RM_RETURN_IF_ERROR(change(database_, "DELETE FROM certificates WHERE expires < ?", before));
        return change(database_, "DELETE FROM tokens WHERE expires < ?", before);
    });
}

}  // namespace rm
