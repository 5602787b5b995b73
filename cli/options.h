#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/client.h"
#include "cli/target.h"
#include "service/man_page.h"

// What the command line said, verb by verb: made by command_line.cc, used by verbs/.
namespace rm {

enum class OutputFormat { table, wide, json, yaml, name, csv };

struct SubmitOptions {
    std::string file;              // "-": stdin
    std::vector<std::string> set;  // KEY=VALUE of the file, stronger than what it says
    std::string name;              // likewise; empty: the file's
    std::string from;              // a checkpoint to start from; empty: what the file says
    bool follow = false;
    OutputFormat output = OutputFormat::name;
};
struct ContinueOptions {
    std::string id;
    bool follow = false;
    OutputFormat output = OutputFormat::name;
};
struct ExplainOptions {
    std::string id;
    OutputFormat output = OutputFormat::table;
};
struct LsOptions {
    bool all = false;  // ended ones too
    OutputFormat output = OutputFormat::table;
};
struct ShowOptions {
    std::vector<std::string> ids;
    OutputFormat output = OutputFormat::table;
};
struct PlacementOptions {
    std::string id;
    std::int64_t attempt = 0;  // its epoch; 0: the newest
    OutputFormat output = OutputFormat::table;
};
struct LogsOptions {
    std::string id;
    bool follow = false;
    int rank = 0;
    bool all_ranks = false;
    std::int64_t attempt = 0;  // its epoch; 0: the newest
    std::int64_t tail = 0;     // lines; 0: all
    std::string since;         // as typed; empty: all
    bool timestamps = false;
    OutputFormat output = OutputFormat::table;  // or json
};
struct FollowOptions {
    std::string id;
};
struct WaitOptions {
    std::vector<std::string> ids;
    std::string timeout;  // as typed; empty: none
    OutputFormat output = OutputFormat::table;
};
struct CancelOptions {
    std::vector<std::string> ids;
    CancelMode mode = CancelMode::checkpoint_first;
    OutputFormat output = OutputFormat::name;
};
// What `history` sorts by and makes groups of.
enum class HistoryKey { submitted, ended, name, state, model, user, loss, tokens };
// usual: newest, latest and highest first, names from a to z.
enum class Order { usual, reversed };
struct HistoryOptions {
    std::string state;  // empty: any
    std::string name;
    std::string model;
    std::string user;
    std::string since;
    HistoryKey sort = HistoryKey::submitted;
    Order order = Order::usual;
    std::optional<HistoryKey> group_by;
    OutputFormat output = OutputFormat::table;
};
struct TopOptions {
    std::string id;  // empty: every job that runs
    bool nodes = false;
    bool once = false;
    double interval = 1;  // s
    OutputFormat output = OutputFormat::table;
};
struct NodesOptions {
    std::vector<std::string> nodes;  // empty: all
    OutputFormat output = OutputFormat::table;
};
struct DrainOptions {
    std::vector<std::string> nodes;
    std::string reason;
    DrainMode mode = DrainMode::stop_with_checkpoint;
    bool yes = false;  // ask nothing
    OutputFormat output = OutputFormat::name;
};
struct ResumeOptions {
    std::vector<std::string> nodes;
    OutputFormat output = OutputFormat::name;
};
struct LinksOptions {
    std::string from;  // both: the history of this link
    std::string to;
    int limit = 0;  // of the history; 0: as many as the controller thinks right
    bool matrix = false;
    OutputFormat output = OutputFormat::table;
};
struct SurveyNowOptions {
    bool wait = false;
    OutputFormat output = OutputFormat::name;
};
struct DoctorOptions {
    OutputFormat output = OutputFormat::table;
};
struct UpOptions {
    int num_workers = 4;
    int devices_per_worker = 1;
    std::string job_file;   // empty: stays up
    std::string state_dir;  // empty: a new one below ~/.local/state/ringmaster
    std::string listen;
    std::string http;
};
struct AuditOptions {
    bool refused = false;  // only what was not allowed
    std::string since;
    OutputFormat output = OutputFormat::table;
};
struct PkiInitOptions {
    std::string directory;
    std::string name = "ringmaster";
    int days = 3650;
};
struct PkiIssueOptions {
    std::string directory;
    std::string role;  // or server
    std::string name;
    std::vector<std::string> subject_names;
    int days = 365;
    std::string output;  // PREFIX of .crt and .key
};
struct PkiRevokeOptions {
    std::string directory;
    std::string certificate;  // a serial, or a file
};
struct PkiTokenOptions {
    std::string directory;
    std::string role;
    std::string name;
    int days = 0;        // 0: until it is taken out of the file
    std::string output;  // a file; empty: stdout
};
struct PrepareDataOptions {
    std::vector<std::string> inputs;
    std::string tokenizer;
    std::string output;  // prefix of .bin and .idx
    std::string format = "auto";
    int num_threads = 0;  // 0: as many as the machine has cores
};
struct BackupOptions {
    std::string file;
    bool force = false;  // overwrite it
    OutputFormat output = OutputFormat::table;
};
struct RestoreOptions {
    std::string file;
    std::string state_dir;  // of a controller that does not run
};
struct ManOptions {
    std::vector<ManPage> pages;  // of this program, made with its command line
    std::string directory;       // empty: the first page goes to stdout
};
// Texts as they were typed; verbs/place.cc reads them.
struct PlaceOptions {
    std::string links;  // a link file
    std::string mesh;   // data=2,ring=4,ulysses=1,tensor=2
    std::string bytes;  // ring=64MiB:12,...; empty: by the formulas, of the model
    std::string model;
    std::string context;
    std::string batch;
    std::string precision = "bf16";
    int zero = 0;
    std::vector<std::string> forbidden;  // NODE or NODE:DEVICE
    std::vector<std::string> preferred;
    std::uint64_t seed = 1;
    std::int64_t budget = 0;
    bool slurm = false;  // only the switches that the links show
    OutputFormat output = OutputFormat::table;
};
struct VersionOptions {
    OutputFormat output = OutputFormat::table;
};

using VerbOptions =
    std::variant<SubmitOptions, ContinueOptions, LsOptions, ShowOptions, ExplainOptions,
                 PlacementOptions, LogsOptions, FollowOptions, WaitOptions, CancelOptions,
                 HistoryOptions, TopOptions, NodesOptions, DrainOptions, ResumeOptions,
                 LinksOptions, SurveyNowOptions, PlaceOptions, DoctorOptions, UpOptions,
                 PrepareDataOptions, AuditOptions, BackupOptions, RestoreOptions, PkiInitOptions,
                 PkiIssueOptions, PkiRevokeOptions, PkiTokenOptions, ManOptions, VersionOptions>;

struct CommandLine {
    TargetFlags target;
    VerbOptions verb;
};

}  // namespace rm
