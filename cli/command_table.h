#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <vector>

#include "cli/options.h"

// The commands of `ringmaster` as CLI11 knows them. It is slow to compile: include it in few
// sources.
namespace rm {

// One subcommand: its options are bound to `options`, which becomes the result when it was chosen.
class Verbs {
public:
    explicit Verbs(CLI::App& app) : app_(app) {}

    // The heading of --help under which the next commands stand.
    void begin_group(std::string heading) { heading_ = std::move(heading); }

    template <typename Options>
    CLI::App& add(const char* name, const char* help, Options& options) {
        return add_below(app_, name, help, options);
    }
    // A verb of a group: `data prepare`.
    template <typename Options>
    CLI::App& add_below(CLI::App& group, const char* name, const char* help, Options& options) {
        CLI::App& verb = add_plain(group, name, help);
        verb.fallthrough();
        verb.callback([this, &options] { chosen_ = options; });
        return verb;
    }
    CLI::App& add_group(const char* name, const char* help) {
        CLI::App& group = add_plain(app_, name, help);
        group.fallthrough();
        group.require_subcommand(1);
        return group;
    }
    CLI::App& add_plain(CLI::App& group, const char* name, const char* help) {
        CLI::App& verb = *group.add_subcommand(name, help);
        if (&group == &app_) verb.group(heading_);
        return verb;
    }
    const VerbOptions& chosen() const { return chosen_; }

private:
    CLI::App& app_;
    std::string heading_;
    VerbOptions chosen_;
};

// The options of each verb are bound to these.
struct AllOptions {
    SubmitOptions submit;
    ContinueOptions continue_job;
    LsOptions ls;
    ShowOptions show;
    ExplainOptions explain;
    PlacementOptions placement;
    LogsOptions logs;
    FollowOptions follow;
    WaitOptions wait;
    BackupOptions backup;
    RestoreOptions restore;
    CancelOptions cancel;
    HistoryOptions history;
    TopOptions top;
    NodesOptions nodes;
    DrainOptions drain;
    ResumeOptions resume;
    LinksOptions links;
    SurveyNowOptions survey;
    DoctorOptions doctor;
    UpOptions up;
    PrepareDataOptions prepare_data;
    AuditOptions audit;
    PkiInitOptions pki_init;
    PkiIssueOptions pki_issue;
    PkiRevokeOptions pki_revoke;
    PkiTokenOptions pki_token;
    ManOptions man;
    PlaceOptions place;
    VersionOptions version;
};

void add_output(CLI::App& verb, OutputFormat& output, const std::vector<std::string>& names);

// An option that takes the names `parse` knows; its help shows `names`.
template <typename T, typename Target>
void add_choice(CLI::App& verb, const std::string& option, Target& target,
                Result<T> (*parse)(const std::string&), const char* names, const char* help) {
    verb.add_option_function<std::string>(
            option,
            [&target, parse, option](const std::string& text) {
                const auto value = parse(text);
                if (!value) throw CLI::ValidationError(option, value.error().message);
                target = *value;
            },
            help)
        ->type_name(names);
}

void add_job_commands(Verbs& verbs, AllOptions& all);      // submit ... top
void add_cluster_commands(Verbs& verbs, AllOptions& all);  // nodes ... place
void add_other_commands(Verbs& verbs, AllOptions& all);    // up ... version

}  // namespace rm
