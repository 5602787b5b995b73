#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "cli/client.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/options.h"

// One function per verb, one file each. An Error is printed and decides the exit code by its own.
namespace rm {

struct VerbContext {
    Console& console;
    const Clock& clock;
    TargetFlags target;
    bool misused = false;  // the error is about what was asked for: exit code `usage`

    // A client of the controller that flags, environment and config file name.
    Result<Client> connect();
};

Result<ExitCode> run_verb(const SubmitOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const ContinueOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const LsOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const ShowOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const ExplainOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const PlacementOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const LogsOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const FollowOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const WaitOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const CancelOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const HistoryOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const TopOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const NodesOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const DrainOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const ResumeOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const LinksOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const SurveyNowOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const DoctorOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const UpOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const PrepareDataOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const AuditOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const PkiInitOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const PkiIssueOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const PkiRevokeOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const PkiTokenOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const BackupOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const RestoreOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const ManOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const PlaceOptions& options, VerbContext& context);
Result<ExitCode> run_verb(const VersionOptions& options, VerbContext& context);

// What was wrong, on stderr, for a failure whose exit code is not that of its error.
ExitCode complain(Console& console, const Error& error, ExitCode code);

}  // namespace rm
