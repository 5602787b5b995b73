#pragma once

#include <vector>

#include "controller/core/outcome.h"

namespace rm {

// Stores a State durably. One implementation uses SQLite (store/control_store.h).
class Store {
public:
    virtual ~Store() = default;
    // Waits, for seconds at most, until no other program writes, and keeps others from it until the
    // next commit() or leave_turn(). UNAVAILABLE: another one still writes.
    virtual Status take_turn() { return {}; }
    virtual void leave_turn() {}
    // The tables as last committed; does not build indexes.
    virtual Result<State> load() = 0;
    // Writes every changed row of `state` and every event in one transaction, that of the turn if
    // one was taken: durable on return.
    virtual Status commit(const State& state, const Changes& changes,
                          const std::vector<AuditEvent>& events) = 0;
};

}  // namespace rm
