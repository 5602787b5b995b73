#include "controller/store/space_guard.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/os/disk_space.h"
#include "base/os/unique_fd.h"

namespace rm {
namespace {

std::string reserve_file(const std::string& directory) {
    return directory + "/reserve";
}

Bytes part_of(Bytes total, int percent) {
    return {total.value / 100 * percent};
}

SpaceMarks lowered(SpaceMarks marks, Bytes total) {
    marks.telemetry = std::min(marks.telemetry, part_of(total, marks.telemetry_percent));
    marks.submits = std::min(marks.submits, part_of(total, 2));
    marks.reserve = std::min(marks.reserve, part_of(total, 5));
    return marks;
}

// Allocates real blocks, not a hole.
bool take(const std::string& path, Bytes size) {
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!file) return false;
    const bool taken = ::posix_fallocate(file.get(), 0, size.value) == 0;
    if (!taken) std::remove(path.c_str());
    return taken;
}

}  // namespace

Result<std::unique_ptr<SpaceGuard>> SpaceGuard::open(const std::string& directory,
                                                     SpaceMarks marks) {
    const auto disk = disk_space(directory);
    if (!disk) {
        return make_error(ErrorCode::unavailable, "cannot read the free space of {}: {}", directory,
                          std::strerror(errno));
    }
    std::unique_ptr<SpaceGuard> guard(new SpaceGuard(directory, lowered(marks, disk->capacity)));
    std::remove(reserve_file(directory).c_str());
    guard->restore_reserve();
    return guard;
}

Bytes SpaceGuard::free_bytes() const {
    // If the free space is unknown, assume enough: the writes themselves will fail.
    return disk_space(directory_).value_or(DiskSpace{marks_.telemetry, {}}).free;
}

Status SpaceGuard::check_submit() const {
    // Once the reserve is released, its size of the free space belongs to control writes. Read
    // `reserved_` last: a release in between then refuses a submit rather than admits one.
    const Bytes seen = free_bytes();
    const Bytes owed = reserved_ ? Bytes{} : marks_.reserve;
    const Bytes free{std::max<std::int64_t>(seen.value - owed.value, 0)};
    if (free >= marks_.submits) return {};
    return make_error(ErrorCode::resource_exhausted,
                      "the controller has {} free at {} and takes no new jobs below {}; free some "
                      "space there. Running jobs continue",
                      to_string(free), directory_, to_string(marks_.submits));
}

bool SpaceGuard::release_reserve() {
    const std::lock_guard lock(mutex_);
    if (!reserved_) return false;
    reserved_ = false;
    return std::remove(reserve_file(directory_).c_str()) == 0;
}

void SpaceGuard::restore_reserve() {
    const std::lock_guard lock(mutex_);
    if (reserved_ || free_bytes().value < marks_.submits.value + marks_.reserve.value) return;
    reserved_ = take(reserve_file(directory_), marks_.reserve);
}

}  // namespace rm
