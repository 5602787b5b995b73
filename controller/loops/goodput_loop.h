#pragma once

#include <set>

#include "base/os/loop.h"
#include "controller/core/goodput/goodput_book.h"
#include "controller/ops/context.h"
#include "controller/store/goodput_store.h"

namespace rm {

// Keeps the accounts of where jobs' time goes: reads each step report once, as it arrives.
class GoodputLoop {
public:
    GoodputLoop(OpsContext& ops, GoodputStore& store, GoodputBook& book);

private:
    Seconds look(const std::stop_token& stop);
    std::set<JobId> jobs() const;  // that have series
    Status load(const std::set<JobId>& jobs);
    Result<bool> read_some();  // whether there may be more
    void take(const std::vector<StepRow>& rows);

    OpsContext& ops_;
    GoodputStore& store_;
    GoodputBook& book_;
    Loop loop_;
};

}  // namespace rm
