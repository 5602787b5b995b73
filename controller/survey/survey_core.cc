#include "controller/survey/survey_core.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/words.h"

namespace rm {
namespace {

// Added to the time of a step's samples, for connections that fail and messages that are lost.
constexpr Seconds kPatience{8};
// Inside a node a process starts for its GPUs, and the driver sets each up. A worker gives up
// itself after 12 s.
constexpr Seconds kInsidePatience{15};
// A survey stops probing a node after this many unanswered probes: each costs kPatience.
constexpr int kUnanswered = 3;
constexpr std::size_t kMaxErrors = 5;
// How late ranks may report the hops of a step.
constexpr Seconds kHopsAreLate{2};
constexpr MonoTime kNever{std::numeric_limits<std::int64_t>::max()};

MonoTime later(MonoTime time, Seconds by) {
    return {time.nanos + static_cast<std::int64_t>(by.value * 1e9)};
}

Seconds length_of(const SurveyStep& step) {
    Seconds longest;
    for (const ProbeTask& task : step)
        longest = std::max(longest, task.each);
    return longest;
}

bool is_amount(double value) {
    return std::isfinite(value) && value >= 0;
}

bool is_possible(const BandwidthSample& sample) {
    return is_amount(sample.rate.value) && is_amount(sample.seconds.value) &&
           is_amount(sample.loss) && sample.bytes.value >= 0;
}

Seconds patience_with(const SurveyStep& step) {
    const bool is_inside = !step.empty() && step.front().kind == ProbeKind::node;
    return is_inside ? kInsidePatience : kPatience;
}

bool is_possible(const InsideSample& sample, int num_devices) {
    const auto is_end = [&](int end) { return end >= kHostEnd && end < num_devices; };
    return is_end(sample.from) && is_end(sample.to) && is_amount(sample.rate.value) &&
           sample.rate.value > 0 && is_amount(sample.latency.value) &&
           is_amount(sample.seconds.value) && sample.bytes.value >= 0;
}

bool is_possible(const BridgeSample& bridge, int num_devices) {
    const std::set<int> devices(bridge.devices.begin(), bridge.devices.end());
    return is_amount(bridge.up.value) && is_amount(bridge.down.value) && !devices.empty() &&
           devices.size() == bridge.devices.size() && *devices.begin() >= 0 &&
           *devices.rbegin() < num_devices;
}

// Whether all numbers of the report are possible measurements: a NaN would reach sorting, storage
// and planning.
bool is_possible(const ProbeReport& report, int num_devices) {
    return is_amount(report.latency.value) && is_amount(report.jitter.value) &&
           std::all_of(report.samples.begin(), report.samples.end(),
                       [](const BandwidthSample& sample) { return is_possible(sample); }) &&
           std::all_of(
               report.inside.begin(), report.inside.end(),
               [&](const InsideSample& sample) { return is_possible(sample, num_devices); }) &&
           std::all_of(
               report.bridges.begin(), report.bridges.end(),
               [&](const BridgeSample& bridge) { return is_possible(bridge, num_devices); });
}

}  // namespace

MonoTime Pacer::earliest(const std::set<std::string>& jobs) const {
    MonoTime time;
    for (const std::string& job : jobs) {
        const auto rest = rest_until_.find(job);
        if (rest != rest_until_.end()) time = std::max(time, rest->second);
    }
    return time;
}

void Pacer::used(const std::set<std::string>& jobs, MonoTime start, MonoTime end) {
    std::erase_if(rest_until_, [&](const auto& entry) { return entry.second < end; });
    if (budget_ <= 0) return;
    const double rest = static_cast<double>(end.nanos - start.nanos) * (1 / budget_ - 1);
    for (const std::string& job : jobs)
        rest_until_[job] = {end.nanos + static_cast<std::int64_t>(rest)};
}

SurveyCore::SurveyCore(SurveyOptions options, LinkBook book, std::int64_t last_survey)
    : options_(std::move(options)),
      book_(std::move(book)),
      pacer_(options_.budget),
      number_(last_survey) {}

void SurveyCore::want(const std::string& reason, MonoTime from) {
    // One survey serves both this request and a pending one.
    if (!want_) want_ = Want{reason, from};
    want_->from = std::min(want_->from, from);
}

void SurveyCore::set_nodes(std::vector<SurveyNode> nodes, SurveyTime now) {
    nodes_ = std::move(nodes);
    if (!options_.automatic || nodes_.size() < 2) return;
    // A single node has no links yet, and so does not count as seen.
    bool joined = false;
    for (const SurveyNode& node : nodes_)
        joined |= seen_.insert(node.id).second && !book_.nodes.contains(node.id);
    // After a restart of the controller all nodes are known.
    if (!joined && !want_ && !run_) want("time", later(now.mono, options_.every));
    if (!joined) return;
    // Every further join restarts the wait, because workers join in groups.
    const bool by_request = want_ && want_->reason == "request";
    if (!by_request) want_ = Want{"join", later(now.mono, options_.settle)};
}

Result<std::int64_t> SurveyCore::request(const std::string& reason, SurveyTime now) {
    if (nodes_.size() < 2) {
        return make_error(ErrorCode::failed_precondition,
                          "{} can be surveyed; a link has two ends. Workers that speak protocol 2, "
                          "and those with --probe-ports none, cannot",
                          counted(nodes_.size(), "node"));
    }
    want_ = Want{reason, now.mono};
    return number_ + 1;
}

const SurveyNode* SurveyCore::present(int index) const {
    const NodeId& id = run_->nodes()[usize(index)].id;
    const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                    [&](const SurveyNode& node) { return node.id == id; });
    return found == nodes_.end() ? nullptr : &*found;
}

std::set<std::string> SurveyCore::jobs_of(const SurveyStep& step) const {
    std::set<std::string> jobs;
    for (const ProbeTask& task : step) {
        for (const int end : {task.from, task.to}) {
            const SurveyNode* node = present(end);
            if (node != nullptr) jobs.insert(node->jobs.begin(), node->jobs.end());
        }
    }
    return jobs;
}

void SurveyCore::fail(std::size_t task, std::string error) {
    reports_[task].error = error;
    // That a node is not reached at an address is a finding.
    if (addresses_) return;
    ++record_.num_failed;
    if (record_.errors.size() < kMaxErrors) record_.errors.push_back(std::move(error));
}

void SurveyCore::begin_survey(SurveyTime now) {
    run_.emplace(nodes_, options_.limits,
                 [this](const NodeId& from, const NodeId& to, GbitPerSec rate) {
                     return book_.is_suspect(from, to, rate);
                 });
    record_ = {.number = ++number_, .reason = want_->reason, .started = now.wall};
    record_.num_nodes = static_cast<int>(nodes_.size());
    addresses_.emplace(nodes_, options_.addresses, number_);
    address_steps_ = 0;
    chosen_.clear();
    unanswered_.clear();
    want_.reset();
    next_step_ = now.mono;
}

std::optional<SurveyStep> SurveyCore::next_step(SurveyOutputs& out) {
    if (addresses_) {
        if (auto step = addresses_->next()) return step;
        out.choices = addresses_->choices();
        for (const AddressChoice& choice : out.choices)
            chosen_[choice.node] = choice.to;
        address_steps_ = addresses_->steps_done();
        addresses_.reset();
    }
    return run_->next();
}

// The core learns of a choice after the survey has made it.
SurveyNode SurveyCore::target_of(const ProbeTask& task, const SurveyNode& to) const {
    SurveyNode target = to;
    const auto chosen = chosen_.find(to.id);
    if (task.address >= 0) {
        const auto& candidates = run_->nodes()[usize(task.to)].candidates;
        target.address = candidates[usize(task.address)].address;
    } else if (chosen != chosen_.end()) {
        target.address = chosen->second;
    }
    return target;
}

void SurveyCore::begin_step(SurveyTime now, SurveyOutputs& out) {
    const auto step = next_step(out);
    if (!step) return finish(now, out);
    const std::set<std::string> jobs = jobs_of(*step);
    next_step_ = std::max(next_step_, pacer_.earliest(jobs));
    waits_for_budget_ = now.mono < next_step_;
    if (waits_for_budget_) return;
    step_ = *step;
    reports_.assign(step_.size(), {});
    in_step_ = true;
    step_began_ = now.mono;
    deadline_ = later(now.mono, length_of(step_) + patience_with(step_));
    for (std::size_t i = 0; i < step_.size(); ++i) {
        const ProbeTask& task = step_[i];
        const SurveyNode* from = present(task.from);
        const SurveyNode* to = present(task.to);
        if (from == nullptr || to == nullptr) {
            const int gone = from == nullptr ? task.from : task.to;
            fail(i, format("{} has left", run_->nodes()[usize(gone)].id));
        } else if (unanswered_[from->id] >= kUnanswered) {
            fail(i, format("{} is no longer asked", from->id));
        } else if (pacer_.forbids(jobs) && !(from->jobs.empty() && to->jobs.empty())) {
            fail(i, format("{} to {}: a job runs there and the budget is 0", from->id, to->id));
        } else {
            asked_[++last_probe_] = {i, from->id};
            out.commands.push_back(
                {last_probe_, task.kind, *from, target_of(task, *to), task.streams, task.each});
        }
    }
}

void SurveyCore::take(const HopSample& sample, SurveyTime now) {
    // Probes slow the hops down, and links that a survey is measuring need no second survey.
    const bool disturbed = run_ || (last_ended_ && now.mono < later(*last_ended_, kHopsAreLate));
    if (!options_.automatic || disturbed) return;
    const auto reason = hops_.take(sample, now.mono);
    const bool soon = want_ && want_->from <= now.mono;
    if (reason && !soon) want_ = Want{*reason, now.mono};
}

SurveyOutputs SurveyCore::take(const NodeId& from, const ProbeReport& report, SurveyTime now) {
    SurveyOutputs out;
    const auto asked = asked_.find(report.id);
    if (asked == asked_.end() || asked->second.from != from) return out;
    const std::size_t index = asked->second.task;
    asked_.erase(asked);
    unanswered_.erase(from);
    const auto sender = usize(step_[index].from);
    if (!report.error.empty()) {
        fail(index, format("{}: {}", from, report.error));
    } else if (!is_possible(report, run_->nodes()[sender].num_devices)) {
        fail(index, format("{} reports what cannot be measured", from));
    } else {
        reports_[index] = report;
    }
    reports_[index].id = report.id;
    skip_empty_steps(now, out);
    return out;
}

void SurveyCore::end_step(SurveyTime now, SurveyOutputs& out) {
    for (const auto& [id, probe] : asked_) {
        fail(probe.task, format("{} has not answered a probe", probe.from));
        ++unanswered_[probe.from];
    }
    asked_.clear();
    in_step_ = false;
    keep_samples(now, out);
    pacer_.used(jobs_of(step_), step_began_, now.mono);
    if (addresses_) {
        addresses_->record(step_, reports_);
    } else {
        run_->record(step_, reports_);
    }
    next_step_ = now.mono;
    begin_step(now, out);
}

void SurveyCore::keep_samples(SurveyTime now, SurveyOutputs& out) const {
    if (addresses_) return;
    for (std::size_t i = 0; i < step_.size(); ++i) {
        if (step_[i].kind != ProbeKind::link || !reports_[i].error.empty()) continue;
        const auto& nodes = run_->nodes();
        out.samples.push_back(
            {.survey = record_.number,
             .time = now.wall,
             .ends = {nodes[usize(step_[i].from)].id, nodes[usize(step_[i].to)].id},
             .beside = static_cast<int>(step_.size()) - 1,
             .report = reports_[i]});
    }
}

// A step may have no node to ask.
void SurveyCore::skip_empty_steps(SurveyTime now, SurveyOutputs& out) {
    while (in_step_ && asked_.empty())
        end_step(now, out);
}

void SurveyCore::finish(SurveyTime now, SurveyOutputs& out) {
    out.drifts = book_.apply(*run_, now.wall);
    record_.ended = now.wall;
    record_.num_links = static_cast<int>(run_->links().size());
    out.finished = record_;
    last_ended_ = now.mono;
    run_.reset();
    waits_for_budget_ = false;
    if (!options_.automatic) return;
    const bool drifts = !out.drifts.empty();
    want(drifts ? "drift" : "time",
         later(now.mono, drifts ? options_.after_drift : options_.every));
}

SurveyOutputs SurveyCore::tick(SurveyTime now) {
    SurveyOutputs out;
    if (!run_ && want_ && now.mono >= want_->from && nodes_.size() >= 2) begin_survey(now);
    if (!run_) return out;
    if (in_step_) {
        if (now.mono >= deadline_) end_step(now, out);
    } else if (now.mono >= next_step_) {
        begin_step(now, out);
    }
    skip_empty_steps(now, out);
    return out;
}

MonoTime SurveyCore::due() const {
    if (run_) return in_step_ ? deadline_ : next_step_;
    return want_ && nodes_.size() >= 2 ? want_->from : kNever;
}

SurveyProgress SurveyCore::progress() const {
    const std::size_t tried = addresses_ ? addresses_->steps_done() : address_steps_;
    const std::size_t to_try = addresses_ ? addresses_->steps_known() : address_steps_;
    return {.running = run_ ? number_ : 0,
            .last = run_ ? number_ - 1 : number_,
            .pending = want_.has_value(),
            .steps_done = run_ ? tried + run_->steps_done() : 0,
            .steps_known = run_ ? to_try + run_->steps_known() : 0,
            .waits_for_budget = waits_for_budget_};
}

}  // namespace rm
