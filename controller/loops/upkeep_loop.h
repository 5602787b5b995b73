#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/os/loop.h"
#include "controller/store/space_guard.h"

namespace rm {

struct UpkeepOptions {
    std::string database;  // control.db
    std::string backups;   // directory
    Seconds every{600};    // between backups
    int keep = 6;
    std::function<void(const std::string&)> on_fatal;  // control.db is gone
};

// Once a second it checks the disk's space, logs when it becomes short or sufficient again, and
// takes the reserve back; every ten minutes it makes a backup, unless space is short. It notices
// when control.db is removed or replaced: later commits would be lost.
class UpkeepLoop {
public:
    UpkeepLoop(UpkeepOptions options, SpaceGuard& space, const Clock& clock);

    // Makes a backup now, unless one was made within the last `every`: a controller that restarts
    // in a loop must not push out the older backups.
    void begin();

private:
    Seconds look();
    void look_at_space();
    void look_at_database();
    bool is_due();
    void back_up();

    const UpkeepOptions options_;
    SpaceGuard& space_;
    const Clock& clock_;
    MonoTime last_backup_;
    const std::uint64_t inode_;  // of control.db; 0: not there
    std::atomic<bool> begun_ = false;
    bool short_ = false;
    Loop loop_;
};

}  // namespace rm
