#include "controller/loops/upkeep_loop.h"

#include <chrono>

#include "controller/store/backup.h"
#include "service/log.h"

namespace rm {
namespace {

constexpr std::chrono::seconds kLook{1};

}  // namespace

UpkeepLoop::UpkeepLoop(UpkeepOptions options, SpaceGuard& space, const Clock& clock)
    : options_(std::move(options)),
      space_(space),
      clock_(clock),
      last_backup_(clock.mono()),
      thread_([this] { run(); }) {}

UpkeepLoop::~UpkeepLoop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_one();
    }
    thread_.join();
}

void UpkeepLoop::run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        lock.unlock();
        look_at_space();
        if (clock_.mono() - last_backup_ >= options_.every) back_up();
        lock.lock();
        changed_.wait_for(lock, kLook, [this] { return stopping_; });
    }
}

void UpkeepLoop::look_at_space() {
    space_.restore_reserve();
    const bool now_short = space_.drops_telemetry();
    if (now_short == short_) return;
    short_ = now_short;
    log_event(LogLevel::warning, now_short ? "space_short" : "space_back",
              {{"free", to_string(space_.free_bytes())}, {"telemetry_dropped", space_.dropped()}});
}

void UpkeepLoop::back_up() {
    last_backup_ = clock_.mono();
    if (short_) return;
    const auto made =
        keep_backup(options_.database, options_.backups, clock_.wall(), options_.keep);
    if (made) {
        log_event(LogLevel::info, "backup", {{"file", *made}});
    } else {
        log_event(LogLevel::warning, "backup_failed", {{"reason", made.error().message}});
    }
}

}  // namespace rm
