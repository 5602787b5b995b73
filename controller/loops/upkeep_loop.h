#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
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
    std::function<void(const std::string&)> on_fatal;  // control.db is not there any more
};

// Once a second it looks at the disk's space, says when it has become short or is there again, and
// takes the reserve back; every ten minutes it makes a backup, unless space is short. It notices
// when control.db is removed or replaced: what is committed from then on would be lost.
class UpkeepLoop {
public:
    UpkeepLoop(UpkeepOptions options, SpaceGuard& space, const Clock& clock);
    ~UpkeepLoop();

    // Makes a backup now, unless one was made within the last `every`: a controller that starts
    // again and again must not push out the older ones.
    void begin();

private:
    void run();
    void look_at_space();
    void look_at_database();
    bool is_due();
    void back_up();

    const UpkeepOptions options_;
    SpaceGuard& space_;
    const Clock& clock_;
    MonoTime last_backup_;
    const std::uint64_t inode_;  // of control.db; 0: not there
    bool begun_ = false;         // under the mutex
    bool short_ = false;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace rm
