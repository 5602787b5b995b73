#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "controller/store/space_guard.h"

namespace rm {

struct UpkeepOptions {
    std::string database;  // control.db
    std::string backups;   // directory
    Seconds every{600};    // between backups
    int keep = 6;
};

// Once a second it looks at the disk's space, says when it has become short or is there again, and
// takes the reserve back; every ten minutes it makes a backup, unless space is short.
class UpkeepLoop {
public:
    UpkeepLoop(UpkeepOptions options, SpaceGuard& space, const Clock& clock);
    ~UpkeepLoop();

private:
    void run();
    void look_at_space();
    void back_up();

    const UpkeepOptions options_;
    SpaceGuard& space_;
    const Clock& clock_;
    MonoTime last_backup_;
    bool short_ = false;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace rm
