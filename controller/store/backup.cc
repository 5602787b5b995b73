#include "controller/store/backup.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/clock.h"
#include "base/os/unique_fd.h"
#include "controller/store/control_store.h"
#include "controller/store/sqlite.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

std::string stamp(WallTime time) {
    return format("{}.{:06}Z", utc_text(time, "%Y%m%dT%H%M%S"), time.micros % 1'000'000);
}

Status sync(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file && ::fsync(file.get()) == 0) return {};
    return make_error(ErrorCode::unavailable, "cannot sync {}", path);
}

Status rename_durably(const std::string& from, const std::string& to) {
    RM_RETURN_IF_ERROR(sync(from));
    std::error_code failure;
    fs::rename(from, to, failure);
    if (failure) {
        return make_error(ErrorCode::unavailable, "cannot rename {} to {}: {}", from, to,
                          failure.message());
    }
    return sync(fs::absolute(to).parent_path().string());
}

Status move_aside(const std::string& path, const std::string& aside) {
    RM_RETURN_IF_ERROR(rename_durably(path, aside));
    std::error_code no_log;
    fs::rename(path + "-wal", aside + "-wal", no_log);
    return {};
}

Status check_whole(Database& database, const std::string& path) {
    RM_TRY(Statement check, database.prepare("PRAGMA integrity_check(1)"));
    RM_TRY(const bool row, check.step());
    if (row && check.text(0) == "ok") return {};
    return data_loss("{} is damaged: {}", path, check.text(0));
}

// A database of a controller's state directory.
struct KeptDatabase {
    const char* file;
    Schema schema;
    const char* query;  // that only a database of this kind answers
    const char* what;   // it is, for messages
};
KeptDatabase kept_control() {
    return {"control.db", control_schema(), "SELECT cluster_id FROM meta", "a controller"};
}
KeptDatabase kept_telemetry() {
    return {"telemetry.db",
            {telemetry_migrations()},
            "SELECT reports_offset FROM streams",
            "a controller's telemetry"};
}

// Checks that the backup is whole and has a schema that this program can migrate.
Status check_backup(const std::string& path, const KeptDatabase& kept) {
    RM_TRY(Database database, Database::open(path, Access::read));
    RM_RETURN_IF_ERROR(check_whole(database, path));
    const bool is_one = database.prepare(kept.query).ok();
    RM_TRY(const int version, database.user_version());
    if (version == 0 || !is_one) return data_loss("{} is not a backup of {}", path, kept.what);
    return check_not_newer(path, kept.schema);
}

// A copy of the backup beside the database that it will replace.
Result<std::string> copied_beside(const std::string& backup, const std::string& state_dir,
                                  const KeptDatabase& kept) {
    RM_RETURN_IF_ERROR(check_backup(backup, kept));
    std::string fresh = format("{}/{}.restoring", state_dir, kept.file);
    RM_RETURN_IF_ERROR(backup_database(backup, fresh));
    return fresh;
}

// Keeps what is at `path`; returns where, or nothing.
Result<std::string> kept_aside(const std::string& path, WallTime now) {
    if (::access(path.c_str(), F_OK) != 0) return std::string();
    std::string aside = format("{}.replaced-{}", path, stamp(now));
    // A backup includes the commits in the write-ahead log. A database that cannot be read any
    // more is kept as it is.
    if (!backup_database(path, aside)) RM_RETURN_IF_ERROR(move_aside(path, aside));
    return aside;
}

Status put_in_place(const std::string& fresh, const std::string& path) {
    std::remove((path + "-wal").c_str());
    std::remove((path + "-shm").c_str());
    return rename_durably(fresh, path);
}

std::string backup_name(WallTime time) {
    return format("control-{}.db", stamp(time));
}

// Oldest first. A directory that is missing or cannot be read has none.
std::vector<std::string> backups_in(const std::string& directory) {
    std::vector<std::string> kept;
    std::error_code failure;
    for (fs::directory_iterator entry(directory, failure), end; !failure && entry != end;
         entry.increment(failure)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with("control-") && name.ends_with("Z.db")) kept.push_back(entry->path());
    }
    std::sort(kept.begin(), kept.end());
    return kept;
}

bool has_entries(const std::string& directory) {
    std::error_code failure;
    return !fs::is_empty(directory, failure) && !failure;
}

void remove_oldest(const std::string& directory, std::size_t keep) {
    const std::vector<std::string> kept = backups_in(directory);
    for (std::size_t i = 0; i + keep < kept.size(); ++i)
        std::remove(kept[i].c_str());
}

}  // namespace

Status backup_database(const std::string& source, const std::string& target) {
    const std::string part = target + ".part";
    std::remove(part.c_str());
    RM_TRY(Database database, Database::open(source, Access::read));
    Status copied = database.backup_to(part);
    if (copied) copied = rename_durably(part, target);
    if (!copied) std::remove(part.c_str());
    return copied;
}

Result<std::string> keep_backup(const std::string& source, const std::string& directory,
                                WallTime now, int keep) {
    std::error_code failure;
    fs::create_directories(directory, failure);
    if (failure) {
        return make_error(ErrorCode::unavailable, "cannot make {}: {}", directory,
                          failure.message());
    }
    const std::string target = format("{}/{}", directory, backup_name(now));
    RM_RETURN_IF_ERROR(backup_database(source, target));
    remove_oldest(directory, usize(keep));
    return target;
}

std::string newest_backup(const std::string& directory) {
    const std::vector<std::string> kept = backups_in(directory);
    return kept.empty() ? "" : kept.back();
}

bool has_backup_since(const std::string& directory, WallTime time) {
    const std::string newest = newest_backup(directory);
    return !newest.empty() && fs::path(newest).filename().string() > backup_name(time);
}

std::string restore_advice(const std::string& state_dir) {
    const std::string newest = newest_backup(state_dir + "/backups");
    if (!newest.empty()) return format("`ringmaster restore {} --state {}`", newest, state_dir);
    return format(
        "`ringmaster restore FILE --state {}` with a backup of yours ({}/backups has none)",
        state_dir, state_dir);
}

Status check_may_found(const std::string& state_dir) {
    for (const char* name : {"backups", "logs", "checkpoints"}) {
        const std::string remains = format("{}/{}", state_dir, name);
        if (!has_entries(remains)) continue;
        return make_error(ErrorCode::failed_precondition,
                          "{}/control.db holds no cluster, but {} is of one; a new cluster is not "
                          "founded beside it, because its workers would be strangers. Put the "
                          "tables back with {}, or start with an empty state directory",
                          state_dir, remains, restore_advice(state_dir));
    }
    return {};
}

Result<std::string> restore_databases(const Backups& backups, const std::string& state_dir,
                                      WallTime now) {
    // Copy first: a failure up to here leaves the databases as they were.
    RM_TRY(const std::string control, copied_beside(backups.control, state_dir, kept_control()));
    std::string telemetry;
    if (!backups.telemetry.empty()) {
        RM_TRY(telemetry, copied_beside(backups.telemetry, state_dir, kept_telemetry()));
    }
    const std::string path = state_dir + "/control.db";
    RM_TRY(std::string aside, kept_aside(path, now));
    if (!telemetry.empty()) {
        const std::string there = state_dir + "/telemetry.db";
        RM_RETURN_IF_ERROR(kept_aside(there, now));
        RM_RETURN_IF_ERROR(put_in_place(telemetry, there));
    }
    std::ofstream(restore_marker(state_dir)) << backups.control << "\n";
    RM_RETURN_IF_ERROR(sync(restore_marker(state_dir)));
    RM_RETURN_IF_ERROR(put_in_place(control, path));
    return aside;
}

std::string restore_marker(const std::string& state_dir) {
    return state_dir + "/restored-from";
}

}  // namespace rm
