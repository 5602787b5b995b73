#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"

// Copies of control.db: taken while the controller writes, put back while it does not run.
namespace rm {

// A consistent copy at `target`, which appears whole or not at all and is on the disk then.
Status backup_database(const std::string& source, const std::string& target);

// Backs up into `directory`, which is made, as control-<UTC time>.db and keeps the newest `keep`
// files of that form. The new file's path.
Result<std::string> keep_backup(const std::string& source, const std::string& directory,
                                WallTime now, int keep);

// The last of those in `directory`; empty: there is none.
std::string newest_backup(const std::string& directory);
// Whether one was made there after `time`, by its name.
bool has_backup_since(const std::string& directory, WallTime time);

// The remedy for tables that cannot be read, as a clause of a message.
std::string restore_advice(const std::string& state_dir);
// FAILED_PRECONDITION: control.db holds no cluster, though backups, logs or checkpoints of one lie
// beside it. Founding another would make strangers of its workers.
Status check_may_found(const std::string& state_dir);

// Puts `backup` in the place of `<state_dir>/control.db`; the caller holds the state directory.
// What was there is kept as control.db.replaced-<UTC time>, whose path is returned (empty: nothing
// was). The next start finds restore_marker(). DATA_LOSS: the backup is damaged or no control
// database; FAILED_PRECONDITION: it was written by a newer program.
Result<std::string> restore_database(const std::string& backup, const std::string& state_dir,
                                     WallTime now);

// A file that says: these tables were put back and nobody has started on them yet.
std::string restore_marker(const std::string& state_dir);

}  // namespace rm
