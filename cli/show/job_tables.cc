#include "cli/show/job_tables.h"

#include <algorithm>

#include "base/text.h"
#include "cli/show/job_text.h"
#include "cli/show/text.h"
#include "spec/report.h"

namespace rm {
namespace {

std::string name_of(const pb::Job& job) {
    return job.spec().name();
}

Cell state_cell(const pb::Job& job) {
    return {state_name(job.state()), state_color(job.state())};
}

std::string step_text(const pb::Job& job) {
    if (job.num_steps() == 0) return "";
    return format("{}/{}", job.last_step().step(), job.num_steps());
}

template <typename Report>
std::string loss_of(const Report& report) {
    return format("{:.4}", report.loss());
}

std::string loss_text(const pb::Job& job) {
    return job.has_last_step() ? loss_of(job.last_step()) : "";
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

bool any_cost(const std::vector<pb::Job>& jobs) {
    return std::any_of(jobs.begin(), jobs.end(),
                       [](const pb::Job& job) { return !job.cost().currency().empty(); });
}

std::string context_of(const pb::Job& job) {
    const pb::StageSpec* stage = current_stage(job);
    return stage == nullptr ? "" : context_text(stage->context());
}

std::string submitted_text(const pb::Job& job) {
    return time_text(job.submitted());
}

std::string mesh_of(const pb::Job& job) {
    const pb::Attempt* attempt = newest_attempt(job);
    return attempt == nullptr ? "" : mesh_text(*attempt);
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

// A row of `history`.
struct JobAttempt {
    const pb::Job& job;
    const pb::Attempt* attempt;  // null: the job has none
    bool is_newest;

    // The attempt's last step; the newest attempt has the job's. Null before the first step.
    const pb::StepReport* step() const {
        if (is_newest) return job.has_last_step() ? &job.last_step() : nullptr;
        return attempt->has_last_step() ? &attempt->last_step() : nullptr;
    }
    const pb::RunCost* cost() const {
        return attempt != nullptr && attempt->has_cost() ? &attempt->cost() : nullptr;
    }
};

std::string number_or_nothing(double value) {
    return value > 0 ? format("{}", value) : "";
}

// The newest of each job first.
std::vector<JobAttempt> attempts_of(const std::vector<pb::Job>& jobs) {
    std::vector<JobAttempt> rows;
    for (const pb::Job& job : jobs) {
        if (job.attempts().empty()) rows.push_back({job, nullptr, true});
        for (int i = job.attempts_size() - 1; i >= 0; --i)
            rows.push_back({job, &job.attempts(i), i + 1 == job.attempts_size()});
    }
    return rows;
}

// A job has one evaluation, which the row of its newest attempt shows.
const pb::EvaluationReport* evaluation_of(const JobAttempt& row) {
    return row.is_newest && row.job.has_last_evaluation() ? &row.job.last_evaluation() : nullptr;
}

// Only jobs whose tokens are bytes have entropies.
const pb::EvaluationReport* entropies_of(const JobAttempt& row) {
    const pb::EvaluationReport* evaluation = evaluation_of(row);
    return evaluation != nullptr && evaluation->unigram_entropy() > 0 ? evaluation : nullptr;
}

const auto of_job = cells_of([](const JobAttempt& row) { return &row.job; });
const auto of_attempt = cells_of(&JobAttempt::attempt);
const auto of_step = cells_of(&JobAttempt::step);
const auto of_cost = cells_of(&JobAttempt::cost);
const auto of_evaluation = cells_of(evaluation_of);
const auto of_entropies = cells_of(entropies_of);
const auto of_inventory = cells_of([](const pb::Node& node) { return &node.inventory(); });

std::string attempt_step_text(const JobAttempt& row) {
    if (row.is_newest) return step_text(row.job);
    return row.step() == nullptr ? "" : format("{}/{}", row.step()->step(), row.job.num_steps());
}

// Why an attempt ended, or why there is none.
std::string cause_of(const JobAttempt& row) {
    if (row.attempt == nullptr) return join(row.job.blocking_reasons(), "; ");
    const std::string& cause = row.attempt->cause();
    return cause.empty() && row.is_newest ? row.job.failure() : cause;
}

std::string node_state_name(pb::NodeState state) {
    switch (state) {
        case pb::NODE_STATE_READY:
            return "ready";
        case pb::NODE_STATE_UNREACHABLE:
            return "unreachable";
        case pb::NODE_STATE_GONE:
            return "gone";
        default:  // an open enum: a newer controller may send other values
            return "?";
    }
}

// A drained node says so: "ready" would mislead a user who looks for devices.
Cell node_state_cell(const pb::Node& node) {
    const bool ready = node.state() == pb::NODE_STATE_READY;
    if (node.removed()) return {"removed", Color::red};
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

// "bf16 182 TFLOP/s": the fastest product on the first kind of GPU.
std::string measured_text(const pb::Node& node) {
    if (node.profiles().empty()) return "";
    return format("bf16 {:.1} TFLOP/s", node.profiles(0).bf16_flops() * 1e-12);
}

// "570.86.10, CUDA 12.8, NCCL 2.28.3"
std::string software_of(const pb::Inventory& inventory) {
    const pb::GpuSoftware& software = inventory.software();
    std::string text = software.driver();
    const auto add = [&text](std::string_view name, const std::string& version) {
        if (!version.empty()) text += format("{}{} {}", text.empty() ? "" : ", ", name, version);
    };
    add("CUDA", software.cuda());
    add("NCCL", software.nccl());
    return text;
}

// "3: Xid 79: it has fallen off the bus; reset it", for each device that no job may use.
std::string unfit_of(const pb::Inventory& inventory) {
    std::string text;
    for (const pb::Device& device : inventory.devices()) {
        if (device.unfit().empty()) continue;
        text += format("{}{}: {}", text.empty() ? "" : ", ", device.index(), device.unfit());
    }
    return text;
}

bool any_unfit(const std::vector<pb::Node>& nodes) {
    return std::any_of(nodes.begin(), nodes.end(),
                       [](const pb::Node& node) { return !unfit_of(node.inventory()).empty(); });
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
    return join(node.roots(), ", ", root_text);
}

}  // namespace

Table jobs_table(const std::vector<pb::Job>& jobs, Detail detail, WallTime now) {
    TableOf table(jobs, detail);
    table.left("ID", &pb::Job::id);
    table.left("NAME", name_of);
    table.left("STATE", state_cell);
    table.right("CTX", context_of);
    table.right("STEP", step_text);
    table.right("LOSS", loss_text);
    table.right("MFU", mfu_text);
    table.right("TOK/S", speed_text);
    table.right("DEVICES", devices_text);
    table.right("ETA", eta_text);
    table.right("TOOK", duration_text);
    if (any_cost(jobs)) table.right("COST", cost_text, 1);
    table.right("AGE", [now](auto& job) { return span_text(age_of(job, now)); });
    if (detail == Detail::wide) {
        table.left("OWNER", &pb::Job::owner);
        table.left("PRIORITY", [](auto& job) { return Cell(job.spec().priority()); });
        table.left("RETRY", [now](auto& job) { return retry_text(job, now); });
        table.left("STAGE", stage_of);
        table.left("MESH", mesh_of);
        table.left("PEAK", [](auto& job) { return job.last_step().peak_name(); });
        table.left("SUBMITTED", submitted_text);
    }
    return table.done();
}

Table history_table(const std::vector<pb::Job>& jobs, Detail detail, WallTime now) {
    const std::vector<JobAttempt> rows = attempts_of(jobs);
    TableOf table(rows, detail);
    table.left("ID", of_job(&pb::Job::id));
    table.left("NAME", of_job(name_of), 1);
    table.left("STATE", of_job(state_cell));
    table.right("ATTEMPT", of_attempt(&pb::Attempt::epoch));
    table.left("RESULT", of_attempt(ended_as), 2);
    table.right("STEP", attempt_step_text);
    table.right("LOSS", of_step(loss_of<pb::StepReport>), 3);
    table.right("VAL-LOSS", of_evaluation(loss_of<pb::EvaluationReport>), 4);
    table.left("MESH", of_attempt([](auto& attempt) { return mesh_text(attempt); }), 6);
    table.left("STARTED", of_attempt(started_text), 5);
    table.right("TOOK", of_attempt([now](auto& attempt) { return took_text(attempt, now); }));
    if (any_cost(jobs)) table.right("COST", of_attempt(attempt_cost_text));
    if (detail == Detail::wide) {
        table.left("OWNER", of_job(&pb::Job::owner));
        table.left("SUBMITTED", of_job(submitted_text));
        table.right("PLANNED", of_attempt(planned_step_text));
        table.right("MEASURED", of_attempt(measured_step_text));
        table.left("CHECKPOINT", of_attempt(&pb::Attempt::last_checkpoint_path));
    }
    table.left("REASON", cause_of);
    return table.done();
}

Table history_csv(const std::vector<pb::Job>& jobs) {
    const std::vector<JobAttempt> rows = attempts_of(jobs);
    TableOf table(rows);
    table.left("id", of_job(&pb::Job::id));
    table.left("name", of_job(name_of));
    table.left("owner", of_job(&pb::Job::owner));
    table.left("state", of_job([](auto& job) { return state_name(job.state()); }));
    table.left("submitted", of_job(submitted_text));
    table.left("ended",
               of_job([](auto& job) { return job.has_ended() ? time_text(job.ended()) : ""; }));
    table.left("attempt", of_attempt(&pb::Attempt::epoch));
    table.left("attempt_state",
               of_attempt([](auto& attempt) { return attempt_state_name(attempt.state()); }));
    table.left("mesh", of_attempt([](auto& attempt) { return mesh_text(attempt.mesh(), 0); }));
    table.left("zero", of_attempt(&pb::Attempt::zero));
    table.left("attempt_started", of_attempt(started_text));
    table.left("attempt_ended", of_attempt([](auto& attempt) {
                   return attempt.has_ended() ? time_text(attempt.ended()) : "";
               }));
    table.left("step", of_step(&pb::StepReport::step));
    table.left("num_steps", of_job(&pb::Job::num_steps));
    table.left("tokens", of_step(&pb::StepReport::tokens_total));
    table.left("loss", of_step(&pb::StepReport::loss));
    table.left("held_out_loss", of_evaluation(&pb::EvaluationReport::loss));
    table.left("unigram_entropy", of_entropies(&pb::EvaluationReport::unigram_entropy));
    table.left("bigram_entropy", of_entropies(&pb::EvaluationReport::bigram_entropy));
    table.left("checkpoint", of_attempt(&pb::Attempt::last_checkpoint_path));
    table.left("failure_class", of_attempt(&pb::Attempt::failure_class));
    table.left("cause", cause_of);
    table.left("cost", of_cost([](auto& cost) { return format("{}", cost.money()); }));
    table.left("currency", of_cost(&pb::RunCost::currency));
    table.left("kwh", of_cost([](auto& cost) { return format("{}", cost.kwh()); }));
    table.left("planned_step_seconds", of_attempt([](auto& attempt) {
                   return number_or_nothing(attempt.predicted().step_seconds());
               }));
    table.left("measured_step_seconds", of_attempt([](auto& attempt) {
                   return number_or_nothing(attempt.measured_step_seconds());
               }));
    return table.done();
}

Table nodes_table(const std::vector<pb::Node>& nodes, Detail detail, WallTime now) {
    TableOf table(nodes, detail);
    table.left("ID", &pb::Node::id);
    table.left("NAME", of_inventory(&pb::Inventory::hostname));
    table.left("STATE", node_state_cell);
    table.left(
        "SESSION", [](const pb::Node& node) { return node.session_up() ? "up" : "down"; }, 1);
    table.left("KIND", of_inventory(kind_of), 2);
    table.right("DEVICES", of_inventory(&pb::Inventory::devices_size));
    table.right("BUSY", &pb::Node::busy_devices_size);
    table.right("CORES", of_inventory(&pb::Inventory::cores), 4);
    table.right("MEMORY", of_inventory([](auto& inventory) {
                    return to_string(Bytes{inventory.memory_bytes()});
                }),
                3);
    table.right("SEEN", [now](auto& node) {
        return node.has_last_seen() ? span_text(now - from_proto(node.last_seen())) : "";
    });
    if (any_unfit(nodes)) table.left("UNFIT", of_inventory(unfit_of));
    if (detail == Detail::wide) {
        table.left("DRIVER", of_inventory(software_of));
        table.left("CPU", of_inventory(&pb::Inventory::cpu_model));
        table.left("PEAK", of_inventory(peak_of));
        table.left("MEASURED", measured_text);
        table.left("DATA", of_inventory(&pb::Inventory::data_address));
        table.left("HTTP", of_inventory(&pb::Inventory::http_address));
        table.left("BUILD", &pb::Node::build);
        table.left("DRAINED", &pb::Node::drained);
        table.left("ROOTS", roots_text);
    }
    return table.done();
}

}  // namespace rm
