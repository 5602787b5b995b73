#include "controller/ops/explain/explain.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "controller/core/roots/job_files.h"

namespace rm {
namespace {

pb::Finding make(pb::Finding::Kind kind, std::string subject, std::string text,
                 std::string remedy) {
    pb::Finding finding;
    finding.set_kind(kind);
    finding.set_subject(std::move(subject));
    finding.set_text(std::move(text));
    finding.set_remedy(std::move(remedy));
    return finding;
}

int num_failed(const State& state, const JobId& id) {
    const std::vector<Epoch>& epochs = epochs_of(state, id);
    return static_cast<int>(std::count_if(epochs.begin(), epochs.end(), [&](Epoch epoch) {
        const AttemptState ended = state.attempts.at(epoch).state;
        return ended == AttemptState::failed || ended == AttemptState::lost;
    }));
}

std::string class_text(FailureClass failure) {
    return failure == FailureClass::none ? "" : format(" ({})", to_string(failure));
}

std::string checkpoint_text(const Attempt& attempt) {
    if (attempt.checkpoint_path.empty()) return "";
    return format("; checkpoint of step {}: {}", attempt.checkpoint_step, attempt.checkpoint_path);
}

// On a CPU, a device's memory is that of the host.
bool is_on_cpu(const State& state, const Attempt& attempt) {
    const DeviceId& first = attempt.ranks.front().device;
    const Node* node = find_node(state, first.node);
    const DeviceInfo* device = node == nullptr ? nullptr : find_device(*node, first.index);
    return device != nullptr && device->kind == "cpu";
}

// Names the changes not made yet that give a rank more memory or reduce its need.
std::string more_memory(const State& state, const Attempt& attempt) {
    const MemorySpec& memory = find_job(state, attempt.job)->spec.memory;
    std::vector<std::string> ways;
    if (memory.device) {
        ways.push_back(format("a `memory.device` larger than {}", exact_text(*memory.device)));
    }
    if (memory.host) {
        ways.push_back(format("a `memory.host` larger than {}", exact_text(*memory.host)));
    }
    ways.insert(ways.end(), {"more devices", "a shorter context"});
    const bool moves = memory.offload != Switch::on && memory.windows != Switch::on;
    if (moves && (memory.device || !is_on_cpu(state, attempt))) {
        ways.emplace_back("`memory: {offload: on}`");
    }
    if (memory.keep != Keep::input) ways.emplace_back("`memory: {keep: input}`");
    return join(ways) + " or a smaller `memory.chunk`";
}

// The rank whose failure ended the attempt; null: none in particular.
const RankRecord* failed_rank(const Attempt& attempt) {
    const auto rank = usize(attempt.cause_rank);
    return rank < attempt.ranks.size() ? &attempt.ranks[rank] : nullptr;
}

// The text that replaces a word in braces in a remedy; nothing: unknown for this attempt.
std::optional<std::string> word_for(std::string_view name, const State& state,
                                    const Attempt& attempt) {
    if (name == "memory") return more_memory(state, attempt);
    if (name == "job") return attempt.job.value;
    if (name == "attempt") return format("{}", attempt.epoch);
    if (name == "from") {
        const std::string checkpoints = checkpoints_of(state, *find_job(state, attempt.job));
        return checkpoints.empty() ? "" : " with --from " + checkpoints;
    }
    const RankRecord* rank = failed_rank(attempt);
    if (rank == nullptr) return std::nullopt;
    if (name == "rank") return format("{}", attempt.cause_rank);
    RM_CHECK(name == "node", "a remedy names '{}'", name);
    return rank->device.node.value;
}

std::string filled(std::string_view remedy, const State& state, const Attempt& attempt) {
    std::string text;
    while (true) {
        const std::size_t open = std::min(remedy.find('{'), remedy.size());
        text += remedy.substr(0, open);
        if (open == remedy.size()) return text;
        const std::size_t close = remedy.find('}', open);
        const auto word = word_for(remedy.substr(open + 1, close - open - 1), state, attempt);
        if (!word) return "";
        text += *word;
        remedy.remove_prefix(close + 1);
    }
}

Remedies remedies_of(const Attempt& attempt) {
    const RankRecord* rank = failed_rank(attempt);
    const RankExit exit = row_of_exit(rank == nullptr ? kNoExit : rank->exit_code);
    return exit.kind == attempt.failure_class ? exit.remedies
                                              : row_of(attempt.failure_class).remedies;
}

// The remedy for the attempt's failure; empty if none is known.
std::string remedy_of(const State& state, const Attempt& attempt) {
    return filled(remedies_of(attempt).attempt, state, attempt);
}

// " (rank 2 was on n1:0, host b)"; empty: no rank is known to be the cause.
std::string place_text(const State& state, const Attempt& attempt) {
    const RankRecord* rank = failed_rank(attempt);
    if (rank == nullptr) return "";
    const Node* node = find_node(state, rank->device.node);
    const std::string host = node == nullptr ? "" : ", host " + node->inventory.hostname;
    return format(" (rank {} was on {}{})", attempt.cause_rank, rank->device, host);
}

void add_ended_attempts(const State& state, const Job& job, Findings& findings) {
    for (const Epoch epoch : epochs_of(state, job.id)) {
        const Attempt& attempt = state.attempts.at(epoch);
        if (!is_terminal(attempt.state)) continue;
        const bool bad =
            attempt.state == AttemptState::failed || attempt.state == AttemptState::lost;
        std::string text =
            format("{} after {}{}{}{}{}{}", to_string(attempt.state),
                   to_string(attempt.ended - attempt.started), class_text(attempt.failure_class),
                   attempt.cause.empty() ? "" : ": ", attempt.cause, place_text(state, attempt),
                   checkpoint_text(attempt));
        findings.push_back((bad ? problem : info)(format("attempt {}", epoch), std::move(text),
                                                  remedy_of(state, attempt)));
    }
}

void add_retry(const State& state, const Job& job, WallTime steady, Findings& findings) {
    if (job.retry_at <= steady) return;
    findings.push_back(
        blocking("retry", format("further attempt {} of {} begins in {}", num_failed(state, job.id),
                                 job.spec.retry.max, to_string(job.retry_at - steady))));
}

void add_queue(const State& state, const Job& job, Findings& findings) {
    int pending = 0;
    int before = 0;
    for (const JobId& id : state.live_jobs) {
        const Job& other = *find_job(state, id);
        if (other.state != JobState::pending) continue;
        ++pending;
        if (id == job.id) continue;
        const int theirs = other.spec.priority;
        const int ours = job.spec.priority;
        if (theirs > ours || (theirs == ours && other.number < job.number)) ++before;
    }
    if (pending < 2) return;
    findings.push_back(
        info("queue",
             format("{} of {} other pending jobs are ahead in the queue (priority {})", before,
                    pending - 1, job.spec.priority),
             before == 0 ? "" : "a higher `priority` in the job file goes first"));
}

std::string devices_text(const Node& node) {
    const std::size_t count = node.inventory.devices.size();
    return format("{} {}", counted(count, "device"), count == 1 ? "is" : "are");
}

// Nodes whose devices this job could have had.
void add_idle_nodes(const State& state, const Job& job, WallTime now, Findings& findings) {
    const std::string& kind = job.spec.resources.kind;
    for (const auto& [id, node] : state.nodes) {
        const auto& devices = node.inventory.devices;
        const bool fits = std::any_of(devices.begin(), devices.end(), [&](const DeviceInfo& d) {
            return kind.empty() || d.kind == kind;
        });
        if (!fits || node.state == NodeState::gone) continue;
        if (!node.drained.empty()) {
            findings.push_back(blocking(format("node {}", id),
                                        format("its {} unavailable: the node is drained ({})",
                                               devices_text(node), node.drained),
                                        format("`ringmaster resume {}`", id)));
        } else if (!node.session.up) {
            findings.push_back(
                blocking(format("node {}", id),
                         format("its {} unavailable: its worker has had no session for {}",
                                devices_text(node), to_string(now - node.session.since)),
                         format("start its worker again, or `ringmaster drain {} --gone` if the "
                                "machine no longer exists",
                                id)));
        }
    }
}

void add_excluded(const Job& job, Findings& findings) {
    if (job.excluded.empty()) return;
    findings.push_back(blocking(
        "devices", format("{}: excluded for this job after failures there", join(job.excluded)),
        "check them; other jobs still use them"));
}

std::string subject_of(ReasonKind kind) {
    const bool is_subject =
        kind == ReasonKind::files || kind == ReasonKind::memory || kind == ReasonKind::cost;
    return is_subject ? std::string(to_string(kind)) : "devices";
}

Findings explain_pending(const State& state, const Job& job, const Now& now) {
    Findings findings;
    add_retry(state, job, now.steady, findings);
    for (const auto& [text, remedy, kind] : job.blocking_reasons)
        findings.push_back(blocking(subject_of(kind), text, remedy));
    add_idle_nodes(state, job, now.wall, findings);
    add_excluded(job, findings);
    add_queue(state, job, findings);
    add_ended_attempts(state, job, findings);
    return findings;
}

// The remedy for an ended job. A continuation has the same job file and fails again if that is bad.
std::string remedy_of(const State& state, const Job& job) {
    if (job.state == JobState::succeeded) return "";
    const Attempt* last = newest_attempt(state, job.id);
    const std::string_view changed = last == nullptr ? "" : remedies_of(*last).job;
    if (!changed.empty()) return filled(changed, state, *last);
    if (checkpoints_of(state, job).empty())
        return "No checkpoint was written; submit the job again";
    return format("`ringmaster continue {}` resumes it from its newest checkpoint", job.id);
}

Findings explain_ended(const State& state, const Job& job) {
    const std::string text =
        format("{} after {}{}{}", to_string(job.state), to_string(job.ended - job.submitted),
               job.failure.empty() ? "" : ": ", job.failure);
    const bool failed = job.state == JobState::failed;
    Findings findings = {(failed ? problem : info)("job", text, remedy_of(state, job))};
    add_ended_attempts(state, job, findings);
    return findings;
}

void add_origin(const State& state, const Job& job, Findings& findings) {
    if (job.recovered) {
        findings.push_back(info(
            "job", format("taken over from its workers after this controller was restored{}",
                          state.restored.micros == 0 ? "" : " at " + to_iso8601(state.restored))));
    }
    if (!job.continues.empty()) {
        findings.push_back(info(
            "job", format("continues job {} from {}", job.continues, job.spec.checkpoint.from)));
    } else if (!job.spec.checkpoint.from.empty()) {
        findings.push_back(info("job", "began from " + job.spec.checkpoint.from));
    }
}

}  // namespace

pb::Finding info(std::string subject, std::string text, std::string remedy) {
    return make(pb::Finding::INFO, std::move(subject), std::move(text), std::move(remedy));
}
pb::Finding blocking(std::string subject, std::string text, std::string remedy) {
    return make(pb::Finding::BLOCKING, std::move(subject), std::move(text), std::move(remedy));
}
pb::Finding problem(std::string subject, std::string text, std::string remedy) {
    return make(pb::Finding::PROBLEM, std::move(subject), std::move(text), std::move(remedy));
}

Findings explain(const State& state, const Job& job, const Now& now) {
    Findings findings;
    const Attempt* attempt = newest_attempt(state, job.id);
    if (is_terminal(job.state)) {
        findings = explain_ended(state, job);
    } else if (attempt == nullptr || is_terminal(attempt->state)) {
        findings = explain_pending(state, job, now);
    } else {
        findings = explain_attempt(state, *attempt, now.wall);
        add_ended_attempts(state, job, findings);
    }
    if (attempt != nullptr) {
        const Findings plan = explain_plan(*attempt, now.wall);
        findings.insert(findings.end(), plan.begin(), plan.end());
    }
    add_origin(state, job, findings);
    if (findings.empty()) {
        findings.push_back(info("job", format("is {}", to_string(job.state))));
    }
    return findings;
}

}  // namespace rm
