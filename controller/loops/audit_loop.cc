#include "controller/loops/audit_loop.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "service/log.h"

namespace rm {
namespace {

constexpr std::size_t kMaxQueued = 10'000;
constexpr Seconds kWindow{60};
// Entries that arrive within this time share a transaction: a row alone writes two pages, to the
// disk that commits wait for.
constexpr std::chrono::milliseconds kGather{20};
constexpr std::string_view kOthers = "more different refusals than are kept in a minute";

// Drops the port, which differs for every connection.
std::string host_of(const std::string& peer) {
    return peer.substr(0, peer.rfind(':'));
}

std::string key_of(const AuditEntry& entry) {
    return join(std::vector{entry.principal, entry.credential, host_of(entry.peer), entry.method,
                            entry.subject, entry.code, entry.reason},
                "\n");
}

AuditEntry others_of(const AuditEntry& entry) {
    return {.time = entry.time, .code = entry.code, .reason = std::string(kOthers)};
}

void log_failure(const Status& status) {
    if (status) return;
    log_event(LogLevel::error, "audit_not_kept", {{"reason", status.error().message}});
}

struct Audited {
    std::string_view kind;
    std::string_view method;
};
constexpr Audited kAudited[] = {{"node.joined", "session begins"},
                                {"node.session_up", "session begins"},
                                {"node.session_down", "session ends"},
                                {"job.recovered", "adoption"}};

std::string name_in(const std::string& subject) {
    return subject.substr(subject.find('/') + 1);
}

}  // namespace

std::vector<AuditEntry> worker_audit(const Outcome& outcome) {
    std::vector<AuditEntry> rows;
    std::string node;  // the node's own event precedes its adoptions
    for (const AuditEvent& event : outcome.events) {
        if (event.kind.starts_with("node.")) node = name_in(event.subject);
        for (const Audited& audited : kAudited) {
            if (event.kind != audited.kind) continue;
            rows.push_back({.time = event.time,
                            .principal = node,
                            .method = std::string(audited.method),
                            .subject = name_in(event.subject),
                            .code = std::string(AuditEntry::kOk)});
        }
    }
    return rows;
}

AuditLoop::AuditLoop(AuditStore& store)
    : store_(store),
      loop_(
          [this](auto& stop) {
              gather(stop);
              keep_queued();
              return Loop::kUntilWoken;
          },
          Loop::kUntilWoken, [this] { keep_queued(); }) {}

// Only refusals can arrive faster than they are kept: an allowed change waits for its own commit.
void AuditLoop::record(AuditEntry entry) {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= kMaxQueued && !entry.allowed()) {
        ++dropped_;
        return;
    }
    ++recorded_;
    queue_.push_back(std::move(entry));
    loop_.wake();
}

void AuditLoop::flush() {
    std::unique_lock lock(mutex_);
    const std::int64_t wanted = recorded_;
    ++num_flushing_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return kept_ >= wanted; });
    --num_flushing_;
}

void AuditLoop::gather(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (queue_.empty()) return;
    changed_.wait_for(lock, stop, kGather, [this] { return num_flushing_ > 0; });
}

void AuditLoop::keep_queued() {
    std::unique_lock lock(mutex_);
    const std::vector<AuditEntry> batch = std::exchange(queue_, {});
    const std::int64_t dropped = std::exchange(dropped_, 0);
    if (batch.empty()) return;
    lock.unlock();
    keep_all(batch);
    if (dropped > 0) log_event(LogLevel::warning, "refusals_not_kept", {{"count", dropped}});
    lock.lock();
    kept_ += static_cast<std::int64_t>(batch.size());
    changed_.notify_all();
}

void AuditLoop::keep_all(const std::vector<AuditEntry>& batch) {
    const Status kept = store_.together([&] {
        for (const AuditEntry& entry : batch)
            keep(entry);
        log_failure(write_counts());
    });
    if (kept) return;
    log_failure(kept);
    refusals_.clear();  // their rows were rolled back
}

void AuditLoop::keep(const AuditEntry& entry) {
    if (!entry.allowed()) return log_failure(keep_refusal(entry));
    const auto id = store_.add(entry);
    if (!id) log_failure(id.error());
}

Status AuditLoop::keep_refusal(const AuditEntry& entry) {
    RM_RETURN_IF_ERROR(begin_minute_if_over(entry.time));
    const bool full = refusals_.size() >= kNewRefusals && !refusals_.contains(key_of(entry));
    const AuditEntry kept = full ? others_of(entry) : entry;
    const std::string key = key_of(kept);
    if (const auto known = refusals_.find(key); known != refusals_.end()) {
        Row& row = known->second;
        ++row.count;
        row.last = std::max(row.last, entry.time);
        row.changed = true;
        return {};
    }
    log_event(LogLevel::warning, "refused",
              {{"principal", kept.principal},
               {"peer", kept.peer},
               {"method", kept.method},
               {"reason", kept.reason}});
    RM_TRY(const std::int64_t id, store_.add(kept));
    refusals_.emplace(key, Row{.id = id, .last = entry.time});
    return {};
}

Status AuditLoop::begin_minute_if_over(WallTime now) {
    // Entries from several threads may arrive slightly out of order.
    if (now - minute_ < kWindow && minute_ - now < kWindow) return {};
    RM_RETURN_IF_ERROR(write_counts());
    refusals_.clear();
    minute_ = now;
    return {};
}

Status AuditLoop::write_counts() {
    for (auto& [key, row] : refusals_) {
        if (!std::exchange(row.changed, false)) continue;
        RM_RETURN_IF_ERROR(store_.repeat(row.id, row.count, row.last));
    }
    return {};
}

}  // namespace rm
