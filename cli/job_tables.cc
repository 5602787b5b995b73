#include "cli/job_tables.h"

#include "base/report.h"
#include "cli/job_text.h"
#include "cli/text.h"

namespace rm {
namespace {

using Row = std::vector<Cell>;

constexpr auto kRight = Align::right;

Cell state_cell(pb::JobState state) {
    return {state_name(state), state_color(state)};
}

std::string step_text(const pb::Job& job) {
    if (job.num_steps() == 0) return "";
    return format("{}/{}", job.last_step().step(), job.num_steps());
}

std::string loss_text(const pb::Job& job) {
    return job.has_last_step() ? format("{:.4}", job.last_step().loss()) : "";
}

std::string held_out_text(const pb::Job& job) {
    return job.has_last_evaluation() ? format("{:.4}", job.last_evaluation().loss()) : "";
}

std::string mfu_text(const pb::Job& job) {
    const double mfu = job.last_step().causal_mfu();
    return mfu > 0 && job.state() != pb::JOB_STATE_PENDING ? percent_text(mfu) : "";
}

std::string speed_text(const pb::Job& job) {
    const double speed = tokens_per_second(job.last_step());
    return speed > 0 && is_computing(job) ? compact_count(speed) : "";
}

// A pending job has none: another job may hold those of an attempt that has ended.
std::string devices_text(const pb::Job& job) {
    const bool placed = num_devices(job) > 0 && job.state() != pb::JOB_STATE_PENDING;
    return placed ? format("{}", num_devices(job)) : "";
}

std::string eta_text(const pb::Job& job) {
    const auto left = time_left(job);
    return left ? span_text(*left) : "";
}

std::string duration_text(const pb::Job& job) {
    const auto took = duration_of(job);
    return took ? span_text(*took) : "";
}

std::string context_of(const pb::Job& job) {
    const pb::StageSpec* stage = current_stage(job);
    return stage == nullptr ? "" : context_text(stage->context());
}

std::string time_text(const google::protobuf::Timestamp& time) {
    return to_iso8601(from_proto(time));
}

std::string mesh_of(const pb::Job& job) {
    const pb::Attempt* attempt = newest_attempt(job);
    return attempt == nullptr ? "" : mesh_text(attempt->mesh(), attempt->zero());
}

// How many attempts have failed and when the next begins: "1 of 3 in 20s".
std::string retry_text(const pb::Job& job, WallTime now) {
    int failed = 0;
    for (const pb::Attempt& attempt : job.attempts())
        failed += attempt.failure_class().empty() ? 0 : 1;
    if (failed == 0) return "";
    const std::string text = format("{} of {}", failed, job.spec().retry().max());
    if (!job.has_retry_at() || from_proto(job.retry_at()) <= now) return text;
    return text + " in " + span_text(from_proto(job.retry_at()) - now);
}

std::string stage_of(const pb::Job& job) {
    const int count = job.spec().stages_size();
    const pb::StageSpec* stage = current_stage(job);
    if (stage == nullptr) return "";
    for (int i = 0; i < count; ++i) {
        if (&job.spec().stages(i) == stage) return format("{}/{}", i + 1, count);
    }
    return "";
}

// Why an attempt ended, or why there is none.
std::string cause_of(const pb::Job& job, const pb::Attempt* attempt) {
    if (attempt != nullptr) {
        const bool last = attempt == newest_attempt(job);
        return attempt->cause().empty() && last ? job.failure() : attempt->cause();
    }
    return joined(job.blocking_reasons(), "; ");
}

std::string took_text(const pb::Attempt& attempt, WallTime now) {
    if (!attempt.has_started()) return "";
    const WallTime end = attempt.has_ended() ? from_proto(attempt.ended()) : now;
    return span_text(end - from_proto(attempt.started()));
}

// The step of an attempt before the newest, whose last step is not the job's.
std::string step_text(const pb::Job& job, const pb::Attempt& attempt) {
    return attempt.has_last_step() ? format("{}/{}", attempt.last_step().step(), job.num_steps())
                                   : "";
}

std::string loss_text(const pb::Attempt& attempt) {
    return attempt.has_last_step() ? format("{:.4}", attempt.last_step().loss()) : "";
}

Row history_row(const pb::Job& job, const pb::Attempt* attempt, Detail detail, WallTime now) {
    // The held-out loss is the job's: it stands on its newest attempt.
    const bool newest = attempt == newest_attempt(job);
    Row row = {job.id(),
               job.spec().name(),
               state_cell(job.state()),
               attempt == nullptr ? "" : format("{}", attempt->epoch()),
               attempt == nullptr ? "" : ended_as(*attempt),
               newest ? step_text(job) : step_text(job, *attempt),
               newest ? loss_text(job) : loss_text(*attempt),
               newest ? held_out_text(job) : "",
               attempt == nullptr ? "" : mesh_text(attempt->mesh(), attempt->zero()),
               attempt == nullptr || !attempt->has_started() ? "" : time_text(attempt->started()),
               attempt == nullptr ? "" : took_text(*attempt, now)};
    if (detail == Detail::wide) {
        row.emplace_back(job.owner());
        row.emplace_back(time_text(job.submitted()));
        row.emplace_back(attempt == nullptr ? "" : attempt->last_checkpoint_path());
    }
    row.emplace_back(cause_of(job, attempt));
    return row;
}

Row csv_row(const pb::Job& job, const pb::Attempt* attempt) {
    const bool newest = attempt == newest_attempt(job);
    const bool stepped = newest ? job.has_last_step() : attempt->has_last_step();
    const pb::StepReport& step = newest ? job.last_step() : attempt->last_step();
    const pb::EvaluationReport& evaluation = job.last_evaluation();
    const bool evaluated = newest && job.has_last_evaluation();
    const bool of_bytes = evaluated && evaluation.unigram_entropy() > 0;
    return {job.id(),
            job.spec().name(),
            job.owner(),
            state_name(job.state()),
            time_text(job.submitted()),
            job.has_ended() ? time_text(job.ended()) : "",
            attempt == nullptr ? "" : format("{}", attempt->epoch()),
            attempt == nullptr ? "" : attempt_state_name(attempt->state()),
            attempt == nullptr ? "" : mesh_text(attempt->mesh(), 0),
            attempt == nullptr ? "" : format("{}", attempt->zero()),
            attempt == nullptr || !attempt->has_started() ? "" : time_text(attempt->started()),
            attempt == nullptr || !attempt->has_ended() ? "" : time_text(attempt->ended()),
            stepped ? format("{}", step.step()) : "",
            format("{}", job.num_steps()),
            stepped ? format("{}", step.tokens_total()) : "",
            stepped ? format("{}", step.loss()) : "",
            evaluated ? format("{}", evaluation.loss()) : "",
            of_bytes ? format("{}", evaluation.unigram_entropy()) : "",
            of_bytes ? format("{}", evaluation.bigram_entropy()) : "",
            attempt == nullptr ? "" : attempt->last_checkpoint_path(),
            attempt == nullptr ? "" : attempt->failure_class(),
            cause_of(job, attempt)};
}

// Calls visit(job, attempt) for every attempt, newest first, and once with null for a job without.
template <typename Visit>
void for_each_attempt(const std::vector<pb::Job>& jobs, const Visit& visit) {
    for (const pb::Job& job : jobs) {
        if (job.attempts().empty()) visit(job, nullptr);
        for (int i = job.attempts_size() - 1; i >= 0; --i)
            visit(job, &job.attempts(i));
    }
}

std::string node_state_name(pb::NodeState state) {
    switch (state) {
        case pb::NODE_STATE_READY:
            return "ready";
        case pb::NODE_STATE_UNREACHABLE:
            return "unreachable";
        case pb::NODE_STATE_GONE:
            return "gone";
        default:  // an open enum: a newer controller may say more
            return "?";
    }
}

// A drained node says so: "ready" would mislead a user who looks for devices.
Cell node_state_cell(const pb::Node& node) {
    const bool ready = node.state() == pb::NODE_STATE_READY;
    if (ready && !node.drained().empty()) return {"drained", Color::yellow};
    return {node_state_name(node.state()), ready ? Color::green : Color::red};
}

std::string kind_of(const pb::Inventory& inventory) {
    return inventory.devices().empty() ? "" : inventory.devices(0).kind();
}

std::string peak_of(const pb::Inventory& inventory) {
    if (inventory.devices().empty()) return "";
    const pb::Device& device = inventory.devices(0);
    return device.bf16().flops() > device.fp32().flops() ? device.bf16().name()
                                                         : device.fp32().name();
}

// "ckpt 1.2 TiB shared by 2": with how much is free and how many nodes have the same directory.
std::string root_text(const pb::Root& root) {
    if (!root.problem().empty()) return format("{}: {}", root.name(), root.problem());
    std::string text = format("{} {}", root.name(), to_string(Bytes{root.free_bytes()}));
    if (!root.writable()) text += " read-only";
    if (root.shared_with_size() > 0) text += format(" shared by {}", root.shared_with_size() + 1);
    return text;
}

std::string roots_text(const pb::Node& node) {
    return joined(node.roots(), ", ", root_text);
}

}  // namespace

Table jobs_table(const std::vector<pb::Job>& jobs, Detail detail, WallTime now) {
    std::vector<Column> columns = {{"ID"},          {"NAME"},          {"STATE"},
                                   {"CTX", kRight}, {"STEP", kRight},  {"LOSS", kRight},
                                   {"MFU", kRight}, {"TOK/S", kRight}, {"DEVICES", kRight},
                                   {"ETA", kRight}, {"TOOK", kRight},  {"AGE", kRight}};
    if (detail == Detail::wide) {
        keep_all(columns);
        for (const char* name :
             {"OWNER", "PRIORITY", "RETRY", "STAGE", "MESH", "PEAK", "SUBMITTED"}) {
            columns.push_back({name});
        }
    }
    Table table(std::move(columns));
    for (const pb::Job& job : jobs) {
        Row row = {job.id(),        job.spec().name(),  state_cell(job.state()),
                   context_of(job), step_text(job),     loss_text(job),
                   mfu_text(job),   speed_text(job),    devices_text(job),
                   eta_text(job),   duration_text(job), span_text(age_of(job, now))};
        if (detail == Detail::wide) {
            const Row more = {job.owner(),
                              format("{}", job.spec().priority()),
                              retry_text(job, now),
                              stage_of(job),
                              mesh_of(job),
                              job.last_step().peak_name(),
                              time_text(job.submitted())};
            row.insert(row.end(), more.begin(), more.end());
        }
        table.add(std::move(row));
    }
    return table;
}

Table history_table(const std::vector<pb::Job>& jobs, Detail detail, WallTime now) {
    std::vector<Column> columns = {{"ID"},
                                   {"NAME", Align::left, 1},
                                   {"STATE"},
                                   {"ATTEMPT", kRight},
                                   {"RESULT", Align::left, 2},
                                   {"STEP", kRight},
                                   {"LOSS", kRight, 3},
                                   {"VAL-LOSS", kRight, 4},
                                   {"MESH", Align::left, 6},
                                   {"STARTED", Align::left, 5},
                                   {"TOOK", kRight}};
    if (detail == Detail::wide) {
        keep_all(columns);
        for (const char* name : {"OWNER", "SUBMITTED", "CHECKPOINT"})
            columns.push_back({name});
    }
    columns.push_back({"REASON"});
    Table table(std::move(columns));
    for_each_attempt(jobs, [&](const pb::Job& job, const pb::Attempt* attempt) {
        table.add(history_row(job, attempt, detail, now));
    });
    return table;
}

Table history_csv(const std::vector<pb::Job>& jobs) {
    std::vector<Column> columns;
    for (const char* name : {"id",
                             "name",
                             "owner",
                             "state",
                             "submitted",
                             "ended",
                             "attempt",
                             "attempt_state",
                             "mesh",
                             "zero",
                             "attempt_started",
                             "attempt_ended",
                             "step",
                             "num_steps",
                             "tokens",
                             "loss",
                             "held_out_loss",
                             "unigram_entropy",
                             "bigram_entropy",
                             "checkpoint",
                             "failure_class",
                             "cause"}) {
        columns.push_back({name});
    }
    Table table(std::move(columns));
    for_each_attempt(jobs, [&](const pb::Job& job, const pb::Attempt* attempt) {
        table.add(csv_row(job, attempt));
    });
    return table;
}

Table nodes_table(const std::vector<pb::Node>& nodes, Detail detail, WallTime now) {
    std::vector<Column> columns = {{"ID"},
                                   {"NAME"},
                                   {"STATE"},
                                   {"SESSION", Align::left, 1},
                                   {"KIND", Align::left, 2},
                                   {"DEVICES", kRight},
                                   {"BUSY", kRight},
                                   {"CORES", kRight, 4},
                                   {"MEMORY", kRight, 3},
                                   {"SEEN", kRight}};
    if (detail == Detail::wide) {
        keep_all(columns);
        for (const char* name : {"CPU", "PEAK", "DATA", "HTTP", "BUILD", "DRAINED", "ROOTS"})
            columns.push_back({name});
    }
    Table table(std::move(columns));
    for (const pb::Node& node : nodes) {
        const pb::Inventory& inventory = node.inventory();
        Row row = {node.id(),
                   inventory.hostname(),
                   node_state_cell(node),
                   node.session_up() ? "up" : "down",
                   kind_of(inventory),
                   format("{}", inventory.devices_size()),
                   format("{}", node.busy_devices_size()),
                   format("{}", inventory.cores()),
                   to_string(Bytes{inventory.memory_bytes()}),
                   node.has_last_seen() ? span_text(now - from_proto(node.last_seen())) : ""};
        if (detail == Detail::wide) {
            const Row more = {
                inventory.cpu_model(),    peak_of(inventory), inventory.data_address(),
                inventory.http_address(), node.build(),       node.drained(),
                roots_text(node)};
            row.insert(row.end(), more.begin(), more.end());
        }
        table.add(std::move(row));
    }
    return table;
}

}  // namespace rm
