#include "controller/loops/upkeep_loop.h"

#include <sys/stat.h>

#include <filesystem>
#include <utility>

#include "controller/store/backup.h"
#include "service/log.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

constexpr Seconds kLook{1};

std::uint64_t inode_of(const std::string& path) {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) == 0 ? facts.st_ino : 0;
}

}  // namespace

UpkeepLoop::UpkeepLoop(UpkeepOptions options, SpaceGuard& space, const Clock& clock)
    : options_(std::move(options)),
      space_(space),
      clock_(clock),
      last_backup_(clock.mono()),
      inode_(inode_of(options_.database)),
      loop_([this](auto&) { return look(); }) {}

Seconds UpkeepLoop::look() {
    look_at_space();
    look_at_database();
    if (is_due()) back_up();
    return kLook;
}

void UpkeepLoop::begin() {
    begun_ = true;
    loop_.wake();
}

bool UpkeepLoop::is_due() {
    if (begun_.exchange(false)) {
        return !has_backup_since(options_.backups, clock_.wall() + Seconds{-options_.every.value});
    }
    return clock_.mono() - last_backup_ >= options_.every;
}

void UpkeepLoop::look_at_database() {
    if (!options_.on_fatal || inode_of(options_.database) == inode_) return;
    options_.on_fatal(format(
        "{} was removed or replaced while the controller ran: what it commits "
        "would be lost. Put the tables back with {}",
        options_.database, restore_advice(fs::path(options_.database).parent_path().string())));
}

void UpkeepLoop::look_at_space() {
    space_.restore_reserve();
    const bool now_short = space_.refuses_telemetry();
    if (now_short == short_) return;
    short_ = now_short;
    log_event(LogLevel::warning, now_short ? "space_short" : "space_back",
              {{"free", to_string(space_.free_bytes())}, {"telemetry_refused", space_.refused()}});
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
