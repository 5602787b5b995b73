#pragma once

#include "controller/core/outcome.h"
#include "tests/controller/event_log.h"

namespace rm::sim {

// control.db: the tables as last committed, and the log of events folded from its start. A commit
// writes only the rows that it names, as the store on SQLite does.
struct ControlDisk {
    State tables;
    Tables folded;
    bool full = false;

    void commit(const State& state, const Changes& changes, const std::vector<AuditEvent>& events) {
        if (changes.meta) {
            tables.cluster = state.cluster;
            tables.next_epoch = state.next_epoch;
            tables.restored = state.restored;
        }
        for (const JobId& id : changes.jobs)
            tables.jobs[id] = state.jobs.at(id);
        for (const Epoch epoch : changes.attempts)
            tables.attempts[epoch] = state.attempts.at(epoch);
        for (const NodeId& id : changes.nodes)
            tables.nodes[id] = state.nodes.at(id);
        for (const ProfileKey& key : changes.profiles)
            tables.profiles[key] = state.profiles.at(key);
        for (const AuditEvent& event : events)
            fold(folded, event);
    }
};

}  // namespace rm::sim
