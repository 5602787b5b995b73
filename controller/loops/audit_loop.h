#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/os/loop.h"
#include "controller/core/outcome.h"
#include "controller/store/audit_store.h"
#include "spec/audit.h"

namespace rm {

// Rows of the audit for acts of workers: sessions that begin and end, and jobs taken over from them
// after a restore. The principal is the node, whose certificate was compared.
std::vector<AuditEntry> worker_audit(const Outcome& outcome);

// The one thread that writes audit.db. A refusal that repeats within a minute (same caller without
// its port, method, code, reason) only raises the count of the first one's row. At most
// kNewRefusals different refusals a minute get their own rows; the others share one row, so that a
// flood neither fills the disk nor hides an entry. Entries that cannot be written are logged and
// delay nothing.
class AuditLoop final : public AuditSink {
public:
    static constexpr std::size_t kNewRefusals = 200;

    explicit AuditLoop(AuditStore& store);  // the destructor writes queued entries

    void record(AuditEntry entry) override;
    // Returns once all earlier records are in the store.
    void flush();

private:
    struct Row {
        std::int64_t id = 0;
        std::int64_t count = 1;
        WallTime last;
        bool changed = false;  // counted up since it was written
    };

    void gather(const std::stop_token& stop);
    void keep_queued();
    void keep_all(const std::vector<AuditEntry>& batch);
    void keep(const AuditEntry& entry);
    Status keep_refusal(const AuditEntry& entry);
    Status begin_minute_if_over(WallTime now);
    Status write_counts();

    AuditStore& store_;

    // Used by the thread only: the refusals of this minute, by the fields that repeats share.
    std::map<std::string, Row> refusals_;
    WallTime minute_;

    std::mutex mutex_;                     // guards what follows
    std::condition_variable_any changed_;  // kept_ and num_flushing_
    std::vector<AuditEntry> queue_;
    std::int64_t recorded_ = 0;
    std::int64_t kept_ = 0;
    std::int64_t dropped_ = 0;
    int num_flushing_ = 0;
    Loop loop_;
};

}  // namespace rm
