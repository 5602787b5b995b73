#include "controller/ops/explain.h"

#include <algorithm>

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

const std::vector<Epoch>& attempts_of(const State& state, const JobId& id) {
    static const std::vector<Epoch> kNone;
    const auto found = state.attempts_of.find(id);
    return found == state.attempts_of.end() ? kNone : found->second;
}

int num_failed(const State& state, const JobId& id) {
    const std::vector<Epoch>& epochs = attempts_of(state, id);
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

// What to change, by why the attempt failed; empty where nothing is known to help.
std::string remedy_of(const Attempt& attempt) {
    switch (attempt.failure_class) {
        case FailureClass::bad_input:
            return "the same input fails again: mend the job file, model or data and submit anew";
        case FailureClass::out_of_memory:
            return "give it more devices, `memory: {offload: host}` or a smaller `memory.chunk`";
        case FailureClass::device_fault: {
            const auto rank = static_cast<std::size_t>(std::max(attempt.cause_rank, 0));
            if (rank >= attempt.ranks.size()) return "";
            return format("take the node out of service: `ringmaster drain {}`",
                          attempt.ranks[rank].device.node);
        }
        case FailureClass::none:
            return "";
        case FailureClass::rank:
        case FailureClass::launch:
        case FailureClass::stall:
        case FailureClass::lost:
            break;
    }
    return attempt.cause_rank < 0 ? ""
                                  : format(
                                        "its last words: `ringmaster logs {} --attempt {} "
                                        "--rank {}`",
                                        attempt.job, attempt.epoch, attempt.cause_rank);
}

void add_ended_attempts(const State& state, const Job& job, Findings& findings) {
    for (const Epoch epoch : attempts_of(state, job.id)) {
        const Attempt& attempt = state.attempts.at(epoch);
        if (!is_terminal(attempt.state)) continue;
        const bool bad =
            attempt.state == AttemptState::failed || attempt.state == AttemptState::lost;
        std::string text =
            format("{} after {}{}{}{}{}", to_string(attempt.state),
                   to_string(attempt.ended - attempt.started), class_text(attempt.failure_class),
                   attempt.cause.empty() ? "" : ": ", attempt.cause, checkpoint_text(attempt));
        findings.push_back((bad ? problem : info)(format("attempt {}", epoch), std::move(text),
                                                  remedy_of(attempt)));
    }
}

// As core/job_files.cc words them.
bool is_about_files(const std::string& reason) {
    for (const FileUse use : {FileUse::model, FileUse::data, FileUse::tokenizer,
                              FileUse::checkpoint, FileUse::from, FileUse::exports}) {
        if (reason.find(to_string(use)) != std::string::npos) return true;
    }
    return reason.find("about its files") != std::string::npos ||
           reason.find("of the job's files") != std::string::npos ||
           reason.find("no roots and others do") != std::string::npos;
}

// "needs 4 cpu devices, 2 are free; add 2": the words behind the last semicolon are the remedy.
pb::Finding from_reason(const std::string& reason) {
    const std::size_t cut = reason.rfind("; ");
    const char* subject = is_about_files(reason) ? "files" : "devices";
    if (cut == std::string::npos) return blocking(subject, reason);
    return blocking(subject, reason.substr(0, cut), reason.substr(cut + 2));
}

void add_retry(const State& state, const Job& job, WallTime now, Findings& findings) {
    if (job.retry_at <= now) return;
    findings.push_back(
        blocking("retry", format("further attempt {} of {} begins in {}", num_failed(state, job.id),
                                 job.spec.retry.max, to_string(job.retry_at - now))));
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
    findings.push_back(info("queue",
                            format("{} of {} pending jobs are looked at before it (priority {})",
                                   before, pending - 1, job.spec.priority),
                            before == 0 ? "" : "a higher `priority` in the job file goes first"));
}

std::string devices_text(const Node& node) {
    const std::size_t count = node.inventory.devices.size();
    return format("{} device{} {}", count, count == 1 ? "" : "s", count == 1 ? "is" : "are");
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
            findings.push_back(blocking(
                format("node {}", id),
                format("its {} not used: it is drained ({})", devices_text(node), node.drained),
                format("`ringmaster resume {}`", id)));
        } else if (!node.session.up) {
            findings.push_back(
                blocking(format("node {}", id),
                         format("its {} not used: it has no session since {}", devices_text(node),
                                to_string(now - node.session.since)),
                         format("start its worker again, or `ringmaster drain {} --gone` if the "
                                "machine no longer exists",
                                id)));
        }
    }
}

void add_excluded(const Job& job, Findings& findings) {
    if (job.excluded.empty()) return;
    std::string devices;
    for (const DeviceId& device : job.excluded)
        devices += (devices.empty() ? "" : ", ") + format("{}", device);
    findings.push_back(blocking("devices", format("{}: not used after their faults", devices),
                                "have them looked at; other jobs still use them"));
}

Findings explain_pending(const State& state, const Job& job, WallTime now) {
    Findings findings;
    add_retry(state, job, now, findings);
    for (const std::string& reason : job.blocking_reasons)
        findings.push_back(from_reason(reason));
    add_idle_nodes(state, job, now, findings);
    add_excluded(job, findings);
    add_queue(state, job, findings);
    add_ended_attempts(state, job, findings);
    return findings;
}

const Attempt* newest_with_checkpoint(const State& state, const Job& job) {
    const std::vector<Epoch>& epochs = attempts_of(state, job.id);
    for (auto epoch = epochs.rbegin(); epoch != epochs.rend(); ++epoch) {
        const Attempt& attempt = state.attempts.at(*epoch);
        if (!attempt.checkpoint_path.empty()) return &attempt;
    }
    return nullptr;
}

Findings explain_ended(const State& state, const Job& job) {
    std::string remedy;
    if (job.state != JobState::succeeded) {
        remedy =
            newest_with_checkpoint(state, job) == nullptr
                ? "it has no checkpoint: submit its job file again"
                : format("`ringmaster continue {}` goes on from its newest checkpoint", job.id);
    }
    const std::string text =
        format("{} after {}{}{}", to_string(job.state), to_string(job.ended - job.submitted),
               job.failure.empty() ? "" : ": ", job.failure);
    const bool failed = job.state == JobState::failed;
    Findings findings = {(failed ? problem : info)("job", text, remedy)};
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
        findings.push_back(info("job", format("goes on from job {}, checkpoint {}", job.continues,
                                              job.spec.checkpoint.from)));
    } else if (!job.spec.checkpoint.from.empty()) {
        findings.push_back(info("job", "began from checkpoint " + job.spec.checkpoint.from));
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

Findings explain(const State& state, const Job& job, WallTime now) {
    Findings findings;
    const Attempt* attempt = newest_attempt(state, job.id);
    if (is_terminal(job.state)) {
        findings = explain_ended(state, job);
    } else if (attempt == nullptr || is_terminal(attempt->state)) {
        findings = explain_pending(state, job, now);
    } else {
        findings = explain_attempt(state, *attempt, now);
        add_ended_attempts(state, job, findings);
    }
    add_origin(state, job, findings);
    if (findings.empty()) {
        findings.push_back(info("job", format("is {}", to_string(job.state))));
    }
    return findings;
}

}  // namespace rm
