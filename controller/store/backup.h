#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"

// Copies of control.db, and of telemetry.db where a user asks for one: taken while the controller
// writes, restored while it does not run.
namespace rm {

// Makes a consistent copy at `target`, which appears whole and durable or not at all.
Status backup_database(const std::string& source, const std::string& target);

// Backs up into `directory`, which it creates, as control-<UTC time>.db and keeps the newest `keep`
// files of that form. Returns the new file's path.
Result<std::string> keep_backup(const std::string& source, const std::string& directory,
                                WallTime now, int keep);

// The newest backup in `directory`; empty: there is none.
std::string newest_backup(const std::string& directory);
// Whether a backup there was made after `time`, by its name.
bool has_backup_since(const std::string& directory, WallTime time);

// The remedy for tables that cannot be read, as a clause of a message.
std::string restore_advice(const std::string& state_dir);
// FAILED_PRECONDITION: control.db holds no cluster, though backups, logs or checkpoints of one lie
// beside it. A new cluster would refuse the old one's workers.
Status check_may_found(const std::string& state_dir);

struct Backups {
    std::string control;
    std::string telemetry;  // empty: telemetry.db stays
};

// Replaces `<state_dir>/control.db` and, where one is given, telemetry.db by backups; the caller
// holds the state directory. Keeps the old files as NAME.replaced-<UTC time> and returns the path
// of control.db's (empty: there was none). The next start finds restore_marker(). Nothing is
// replaced after DATA_LOSS: a backup is damaged or of something else; FAILED_PRECONDITION: a newer
// program wrote it.
Result<std::string> restore_databases(const Backups& backups, const std::string& state_dir,
                                      WallTime now);

// Path of the file that marks restored tables on which no controller has started yet.
std::string restore_marker(const std::string& state_dir);

}  // namespace rm
