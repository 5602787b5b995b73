#include "controller/store/control_store.h"

namespace rm {
namespace {

// Times are microseconds since the Unix epoch (0: not yet); sizes bytes; durations seconds.
constexpr const char* kControl1 = R"sql(
CREATE TABLE meta (
    cluster_id TEXT NOT NULL, next_epoch INTEGER NOT NULL
) STRICT;
CREATE TABLE jobs (
    id TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE, request_id TEXT NOT NULL UNIQUE,
    project TEXT NOT NULL, owner TEXT NOT NULL, state TEXT NOT NULL,
    submitted INTEGER NOT NULL, ended INTEGER NOT NULL,
    blocking_reasons TEXT NOT NULL, failure TEXT NOT NULL, yaml TEXT NOT NULL,
    name TEXT NOT NULL, model_preset TEXT NOT NULL,
    data_path TEXT NOT NULL, data_format TEXT NOT NULL, data_tokenizer TEXT NOT NULL,
    data_holdout REAL NOT NULL, seed INTEGER NOT NULL, parallel TEXT NOT NULL,
    memory_tile INTEGER NOT NULL, memory_chunk INTEGER NOT NULL, precision TEXT NOT NULL,
    optimizer_beta1 REAL NOT NULL, optimizer_beta2 REAL NOT NULL, optimizer_eps REAL NOT NULL,
    optimizer_weight_decay REAL NOT NULL, optimizer_clip_norm REAL NOT NULL,
    resources_devices INTEGER NOT NULL, resources_kind TEXT NOT NULL,
    checkpoint_dir TEXT NOT NULL, checkpoint_every_steps INTEGER NOT NULL,
    checkpoint_keep INTEGER NOT NULL,
    evaluation_every_steps INTEGER NOT NULL, evaluation_tokens INTEGER NOT NULL
) STRICT;
CREATE TABLE stages (
    job TEXT NOT NULL, position INTEGER NOT NULL,
    context INTEGER NOT NULL, batch INTEGER NOT NULL, tokens INTEGER NOT NULL,
    rope_theta REAL NOT NULL, learning_rate REAL NOT NULL, warmup_steps INTEGER NOT NULL,
    schedule TEXT NOT NULL, final_learning_rate REAL NOT NULL,
    PRIMARY KEY (job, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE attempts (
    epoch INTEGER PRIMARY KEY, job TEXT NOT NULL, state TEXT NOT NULL, mesh TEXT NOT NULL,
    tile_tokens INTEGER NOT NULL, chunk_tokens INTEGER NOT NULL,
    collective_timeout REAL NOT NULL, started INTEGER NOT NULL, ended INTEGER NOT NULL,
    stop_reason TEXT NOT NULL, stop_mode TEXT NOT NULL,
    cause TEXT NOT NULL, cause_rank INTEGER NOT NULL,
    checkpoint_step INTEGER NOT NULL, checkpoint_path TEXT NOT NULL, stages_done INTEGER NOT NULL
) STRICT;
CREATE INDEX attempts_of_job ON attempts (job, epoch);
CREATE TABLE placements (
    epoch INTEGER NOT NULL, position INTEGER NOT NULL,  -- the rank
    node TEXT NOT NULL, device INTEGER NOT NULL, state TEXT NOT NULL,
    exit_code INTEGER NOT NULL, exit_signal INTEGER NOT NULL, error TEXT NOT NULL,
    PRIMARY KEY (epoch, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE nodes (
    id TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE, state TEXT NOT NULL,
    hostname TEXT NOT NULL, os TEXT NOT NULL, cpu_model TEXT NOT NULL,
    num_cores INTEGER NOT NULL, memory INTEGER NOT NULL,
    data_address TEXT NOT NULL, http_address TEXT NOT NULL,
    boot_id TEXT NOT NULL, build TEXT NOT NULL,
    joined INTEGER NOT NULL, last_seen INTEGER NOT NULL
) STRICT;
CREATE TABLE devices (
    node TEXT NOT NULL, position INTEGER NOT NULL,
    device INTEGER NOT NULL, kind TEXT NOT NULL, memory INTEGER NOT NULL,
    peak_flops REAL NOT NULL, peak_name TEXT NOT NULL, num_threads INTEGER NOT NULL,
    PRIMARY KEY (node, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    fields TEXT NOT NULL  -- a JSON object of changed columns; every value a string, null: gone
) STRICT;
CREATE INDEX events_of_subject ON events (subject, seq);
)sql";

// Jobs start from directories, mix data and export; devices have a peak for each precision.
constexpr const char* kControl2 = R"sql(
ALTER TABLE jobs ADD COLUMN model_from TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN export_huggingface TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs RENAME COLUMN data_path TO data_sources;  -- path or path@proportion, one per line
ALTER TABLE devices RENAME COLUMN peak_flops TO fp32_flops;
ALTER TABLE devices RENAME COLUMN peak_name TO fp32_name;
ALTER TABLE devices ADD COLUMN bf16_flops REAL NOT NULL DEFAULT 0;
ALTER TABLE devices ADD COLUMN bf16_name TEXT NOT NULL DEFAULT '';
)sql";

// Meshes have ZeRO stages and inner rings ("1x8x1x1/2"), documents may be separate, the optimizer's
// moments bf16.
constexpr const char* kControl3 = R"sql(
ALTER TABLE jobs ADD COLUMN zero INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN data_documents TEXT NOT NULL DEFAULT 'joined';
ALTER TABLE jobs ADD COLUMN data_positions TEXT NOT NULL DEFAULT 'reset';
ALTER TABLE jobs ADD COLUMN optimizer_place TEXT NOT NULL DEFAULT 'device';
ALTER TABLE jobs ADD COLUMN optimizer_moments TEXT NOT NULL DEFAULT 'fp32';
ALTER TABLE attempts ADD COLUMN zero INTEGER NOT NULL DEFAULT 0;
)sql";

// Jobs say how memory is used. Empty: alpha is the plan's, there is no limit.
constexpr const char* kControl4 = R"sql(
ALTER TABLE jobs ADD COLUMN memory_keep TEXT NOT NULL DEFAULT 'auto';
ALTER TABLE jobs ADD COLUMN memory_alpha TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN memory_offload TEXT NOT NULL DEFAULT 'auto';
ALTER TABLE jobs ADD COLUMN memory_windows TEXT NOT NULL DEFAULT 'auto';
ALTER TABLE jobs ADD COLUMN memory_prefetch INTEGER NOT NULL DEFAULT 1;
ALTER TABLE jobs ADD COLUMN memory_arena TEXT NOT NULL DEFAULT 'reuse';
ALTER TABLE jobs ADD COLUMN memory_device TEXT NOT NULL DEFAULT '';  -- as 40GiB
ALTER TABLE jobs ADD COLUMN memory_host TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN keep TEXT NOT NULL DEFAULT 'input+attention';
ALTER TABLE attempts ADD COLUMN alpha REAL NOT NULL DEFAULT 1;
ALTER TABLE attempts ADD COLUMN kept TEXT NOT NULL DEFAULT 'device';
ALTER TABLE attempts ADD COLUMN working TEXT NOT NULL DEFAULT 'whole';
ALTER TABLE attempts ADD COLUMN prefetch INTEGER NOT NULL DEFAULT 1;
ALTER TABLE attempts ADD COLUMN arena TEXT NOT NULL DEFAULT 'reuse';
ALTER TABLE attempts ADD COLUMN device_limit INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN host_limit INTEGER NOT NULL DEFAULT 0;
)sql";

// Attempts fail in classes and are retried; nodes are drained; jobs have priorities and continue
// from checkpoints of other jobs.
constexpr const char* kControl5 = R"sql(
ALTER TABLE jobs ADD COLUMN retry_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN excluded TEXT NOT NULL DEFAULT '';  -- node:device, one per line
ALTER TABLE jobs ADD COLUMN continues TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN recovered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN checkpoint_from TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN retry_max INTEGER NOT NULL DEFAULT 3;
ALTER TABLE jobs ADD COLUMN retry_lost_after REAL NOT NULL DEFAULT 1800;
ALTER TABLE jobs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN failure_class TEXT NOT NULL DEFAULT 'none';
ALTER TABLE attempts ADD COLUMN may_publish INTEGER NOT NULL DEFAULT 0;
ALTER TABLE nodes ADD COLUMN drained TEXT NOT NULL DEFAULT '';
ALTER TABLE meta ADD COLUMN restored INTEGER NOT NULL DEFAULT 0;
)sql";

// A job may assign devices to ranks.
constexpr const char* kControl6 = R"sql(
ALTER TABLE jobs ADD COLUMN resources_placement TEXT NOT NULL DEFAULT '';  -- as `excluded`, by rank
)sql";

// Checkpoints by time: every ten minutes unless the job says otherwise.
constexpr const char* kControl7 = R"sql(
ALTER TABLE jobs ADD COLUMN checkpoint_every REAL NOT NULL DEFAULT 600;
)sql";

// Jobs fail when their updates stay non-finite.
constexpr const char* kControl8 = R"sql(
ALTER TABLE jobs ADD COLUMN optimizer_max_skipped INTEGER NOT NULL DEFAULT 10;
)sql";

// From here on the tables get new columns from core/columns.h when they are opened. Programs of
// schema 8 do not compare columns and must not write into these tables.
constexpr const char* kControl9 = R"sql()sql";

// The newest measured profile of each kind of GPU with a driver.
constexpr const char* kControl10 = R"sql(
CREATE TABLE profiles (
    kind TEXT NOT NULL, driver TEXT NOT NULL, build TEXT NOT NULL, bf16_flops REAL NOT NULL,
    text TEXT NOT NULL,  -- docs/formats/device_profile.md
    node TEXT NOT NULL, time INTEGER NOT NULL,
    PRIMARY KEY (kind, driver)
) STRICT, WITHOUT ROWID;
)sql";

// The suites and prompts of a job's evaluations.
constexpr const char* kControl11 = R"sql(
CREATE TABLE suites (
    job TEXT NOT NULL, position INTEGER NOT NULL,
    suite TEXT NOT NULL, name TEXT NOT NULL, every_steps INTEGER NOT NULL,
    lengths TEXT NOT NULL,  -- one per line, as are the tasks
    samples INTEGER NOT NULL, depths INTEGER NOT NULL, distractors INTEGER NOT NULL,
    digits INTEGER NOT NULL, tasks TEXT NOT NULL, seed INTEGER NOT NULL,
    PRIMARY KEY (job, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE prompts (
    job TEXT NOT NULL, position INTEGER NOT NULL,
    prompt TEXT NOT NULL, tokens INTEGER NOT NULL, temperature REAL NOT NULL, top_p REAL NOT NULL,
    seed INTEGER NOT NULL,
    PRIMARY KEY (job, position)
) STRICT, WITHOUT ROWID;
)sql";

// Reports are kept as the bytes they arrived in, beside the columns that queries use.
constexpr const char* kTelemetry1 = R"sql(
CREATE TABLE streams (
    epoch INTEGER NOT NULL, rank INTEGER NOT NULL, job TEXT NOT NULL,
    reports_offset INTEGER NOT NULL, log_offset INTEGER NOT NULL,
    log_dropped INTEGER NOT NULL,  -- bytes of the log before this are gone
    PRIMARY KEY (epoch, rank)
) STRICT, WITHOUT ROWID;
CREATE TABLE steps (
    id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL,
    epoch INTEGER NOT NULL, rank INTEGER NOT NULL, end_offset INTEGER NOT NULL,
    received INTEGER NOT NULL, step INTEGER NOT NULL, loss REAL, report BLOB NOT NULL,
    UNIQUE (epoch, rank, end_offset)
) STRICT;
CREATE INDEX steps_of_job ON steps (job, rank, id);
CREATE TABLE evaluations (
    id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL,
    epoch INTEGER NOT NULL, rank INTEGER NOT NULL, end_offset INTEGER NOT NULL,
    received INTEGER NOT NULL, step INTEGER NOT NULL, loss REAL, report BLOB NOT NULL,
    UNIQUE (epoch, rank, end_offset)
) STRICT;
CREATE INDEX evaluations_of_job ON evaluations (job, rank, id);
CREATE TABLE notes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL,
    epoch INTEGER NOT NULL, rank INTEGER NOT NULL, end_offset INTEGER NOT NULL,
    received INTEGER NOT NULL, report TEXT NOT NULL,
    UNIQUE (epoch, rank, end_offset)
) STRICT;
CREATE INDEX notes_of_job ON notes (job, rank, id);
)sql";

// The measurements of surveys, and the known state of every link. Rates are Gbit/s.
constexpr const char* kTelemetry2 = R"sql(
CREATE TABLE surveys (
    number INTEGER PRIMARY KEY, reason TEXT NOT NULL, started INTEGER NOT NULL,
    ended INTEGER NOT NULL, nodes INTEGER NOT NULL, links INTEGER NOT NULL,
    failed INTEGER NOT NULL, errors TEXT NOT NULL  -- the first few, one a line
) STRICT;
CREATE TABLE link_samples (
    id INTEGER PRIMARY KEY AUTOINCREMENT, survey INTEGER NOT NULL, time INTEGER NOT NULL,
    from_node TEXT NOT NULL, to_node TEXT NOT NULL, measured_by TEXT NOT NULL,
    beside INTEGER NOT NULL,  -- links measured at the same time
    streams INTEGER NOT NULL, rate REAL NOT NULL, bytes INTEGER NOT NULL, seconds REAL NOT NULL,
    loss REAL NOT NULL, latency REAL NOT NULL, jitter REAL NOT NULL
) STRICT;
CREATE INDEX samples_of_link ON link_samples (from_node, to_node, id);
CREATE INDEX samples_of_survey ON link_samples (survey);
CREATE TABLE links (
    from_node TEXT NOT NULL, to_node TEXT NOT NULL,
    flow REAL NOT NULL, bandwidth REAL NOT NULL, latency REAL NOT NULL, jitter REAL NOT NULL,
    loss REAL NOT NULL, measured INTEGER NOT NULL, alone INTEGER NOT NULL,
    baseline REAL NOT NULL, degraded INTEGER NOT NULL,
    good TEXT NOT NULL,  -- the last good bandwidths, one a line
    PRIMARY KEY (from_node, to_node)
) STRICT, WITHOUT ROWID;
CREATE TABLE link_groups (
    position INTEGER PRIMARY KEY, nodes TEXT NOT NULL, up REAL NOT NULL, down REAL NOT NULL
) STRICT;
CREATE TABLE surveyed_nodes (
    id TEXT PRIMARY KEY, egress REAL NOT NULL, ingress REAL NOT NULL, devices INTEGER NOT NULL
) STRICT;
CREATE TABLE inside_samples (
    node TEXT NOT NULL, from_device INTEGER NOT NULL, to_device INTEGER NOT NULL,  -- -1: the host
    rate REAL NOT NULL, latency REAL NOT NULL, bytes INTEGER NOT NULL, seconds REAL NOT NULL,
    PRIMARY KEY (node, from_device, to_device)
) STRICT, WITHOUT ROWID;
)sql";

// The connections of an attempt's ranks, as they report them.
constexpr const char* kTelemetry3 = R"sql(
CREATE TABLE connections (
    epoch INTEGER NOT NULL, rank INTEGER NOT NULL, job TEXT NOT NULL,
    received INTEGER NOT NULL, report BLOB NOT NULL,
    PRIMARY KEY (epoch, rank)
) STRICT, WITHOUT ROWID;
)sql";

// Alarms: messages of a continuing run that need attention.
constexpr const char* kTelemetry4 = R"sql(
CREATE TABLE alarms (
    id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL,
    epoch INTEGER NOT NULL, rank INTEGER NOT NULL, end_offset INTEGER NOT NULL,
    received INTEGER NOT NULL, report TEXT NOT NULL,
    UNIQUE (epoch, rank, end_offset)
) STRICT;
CREATE INDEX alarms_of_job ON alarms (job, rank, id);
)sql";

// Devices below one PCI bridge that copied at once, as the last survey measured them.
constexpr const char* kTelemetry5 = R"sql(
CREATE TABLE host_bridges (
    node TEXT NOT NULL, name TEXT NOT NULL, devices TEXT NOT NULL,  -- numbers, one a line
    up REAL NOT NULL, down REAL NOT NULL,
    PRIMARY KEY (node, name)
) STRICT, WITHOUT ROWID;
)sql";

// The curves of steps whose reports are no longer kept whole: controller/curves/chunk.h.
constexpr const char* kTelemetry6 = R"sql(
CREATE TABLE curves (
    job TEXT NOT NULL, rank INTEGER NOT NULL, quantity TEXT NOT NULL, epoch INTEGER NOT NULL,
    first_step INTEGER NOT NULL, last_step INTEGER NOT NULL, data BLOB NOT NULL,
    UNIQUE (job, rank, quantity, epoch, first_step)
) STRICT;
CREATE TABLE curve_ranks (
    job TEXT NOT NULL, rank INTEGER NOT NULL,
    points INTEGER NOT NULL,  -- of its longest line
    newest INTEGER NOT NULL,  -- when its last packed report was received
    PRIMARY KEY (job, rank)
) STRICT, WITHOUT ROWID;
)sql";

// Where the time of attempts has gone, by the steps up to goodput_read.
constexpr const char* kTelemetry7 = R"sql(
CREATE TABLE goodput (
    epoch INTEGER PRIMARY KEY, job TEXT NOT NULL, end_offset INTEGER NOT NULL,
    last_step INTEGER NOT NULL, reached INTEGER NOT NULL, until INTEGER NOT NULL,
    clock_offset REAL NOT NULL, recent TEXT NOT NULL,  -- seconds of the last steps, one a line
    good REAL NOT NULL, queue REAL NOT NULL, start REAL NOT NULL, restore REAL NOT NULL,
    recomputed REAL NOT NULL, checkpoint REAL NOT NULL, stall REAL NOT NULL,
    straggler REAL NOT NULL, idle REAL NOT NULL
) STRICT;
CREATE INDEX goodput_of_job ON goodput (job, epoch);
CREATE TABLE goodput_read (one INTEGER PRIMARY KEY, id INTEGER NOT NULL) STRICT;
)sql";

// The results of suites (spec/report.h SuiteReport), by the suite's name in its job.
constexpr const char* kTelemetry8 = R"sql(
CREATE TABLE suites (
    id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL,
    epoch INTEGER NOT NULL, rank INTEGER NOT NULL, end_offset INTEGER NOT NULL,
    received INTEGER NOT NULL, name TEXT NOT NULL, report BLOB NOT NULL,
    UNIQUE (epoch, rank, end_offset)
) STRICT;
CREATE INDEX suites_of_job ON suites (job, rank, name, id);
)sql";

constexpr const char* kControl[] = {kControl1, kControl2,  kControl3, kControl4,
                                    kControl5, kControl6,  kControl7, kControl8,
                                    kControl9, kControl10, kControl11};
constexpr const char* kTelemetry[] = {kTelemetry1, kTelemetry2, kTelemetry3, kTelemetry4,
                                      kTelemetry5, kTelemetry6, kTelemetry7, kTelemetry8};

}  // namespace

std::span<const char* const> control_migrations() {
    return kControl;
}
std::span<const char* const> telemetry_migrations() {
    return kTelemetry;
}

}  // namespace rm
