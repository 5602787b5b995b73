#pragma once

#include <vector>

#include "controller/core/outcome.h"

namespace rm {

// The durable side of a State. One implementation is on SQLite (store/control_store.h).
class Store {
public:
    virtual ~Store() = default;
    // Waits, for seconds at most, until no other program holds the tables. UNAVAILABLE: one still
    // does.
    virtual Status wait_for_turn() { return {}; }
    // The tables as they were committed last; indexes are not built.
    virtual Result<State> load() = 0;
    // Every changed row of `state` and every event, in one transaction: durable when this returns.
    virtual Status commit(const State& state, const Changes& changes,
                          const std::vector<Event>& events) = 0;
};

}  // namespace rm
