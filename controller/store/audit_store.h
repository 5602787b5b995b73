#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "controller/store/sqlite.h"
#include "spec/audit.h"

namespace rm {

// An entry that occurred `count` times from entry.time to `last`.
struct AuditRow {
    std::int64_t id = 0;
    AuditEntry entry;
    WallTime last;
    std::int64_t count = 1;
};

// audit.db: a file of its own, so that a flood of refusals delays no commit of the control plane.
// Not thread safe: it belongs to the audit loop.
class AuditStore {
public:
    // Keeps about the newest `kept` refusals and as many rows of workers' sessions, so that neither
    // strangers nor a worker that keeps reconnecting can fill the disk. Rows of other allowed calls
    // are never removed.
    static Result<std::unique_ptr<AuditStore>> open(const std::string& path,
                                                    std::int64_t kept = 100'000);

    // Runs `writes`, which calls add() and repeat(), in one transaction: the rows share pages.
    Status together(const std::function<void()>& writes);
    Result<std::int64_t> add(const AuditEntry& entry);  // the row's id
    Status repeat(std::int64_t id, std::int64_t count, WallTime last);

private:
    // Rows of a kind whose number is bounded.
    struct Bounded {
        Statement prune;
        std::int64_t added = 0;
    };
    AuditStore(std::int64_t kept, Database database, Statement insert, Statement update,
               Statement prune_refusals, Statement prune_sessions)
        : kept_(kept),
          database_(std::move(database)),
          insert_(std::move(insert)),
          update_(std::move(update)),
          refusals_{std::move(prune_refusals)},
          sessions_{std::move(prune_sessions)} {}

    Status make_room(Bounded& rows);

    const std::int64_t kept_;
    Database database_;
    Statement insert_;
    Statement update_;
    Bounded refusals_;
    Bounded sessions_;
};

struct AuditFilter {
    std::int64_t before_id = 0;  // 0: from the newest
    WallTime since;              // rows that were last repeated then or later
    bool only_refused = false;
    int limit = 100;
};

// Reads audit.db on its own connection. Thread safe.
class AuditReader {
public:
    static Result<std::unique_ptr<AuditReader>> open(const std::string& path);
    Result<std::vector<AuditRow>> list(const AuditFilter& filter);  // newest first

private:
    AuditReader(Database database, Statement select)
        : database_(std::move(database)), select_(std::move(select)) {}

    std::mutex mutex_;
    Database database_;
    Statement select_;
};

}  // namespace rm
