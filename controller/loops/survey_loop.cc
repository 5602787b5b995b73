#include "controller/loops/survey_loop.h"

#include <algorithm>
#include <random>

#include "planner/placement/job_traffic.h"
#include "service/log.h"

namespace rm {
namespace {

constexpr std::size_t kNonceBytes = 16;
// The loop polls: changes of nodes and jobs raise no event here.
constexpr Seconds kLook{0.5};

std::string new_nonce() {
    std::random_device device;
    std::string nonce;
    while (nonce.size() < kNonceBytes)
        nonce += static_cast<char>(device() & 0xff);
    return nonce;
}

std::string text_of(GbitPerSec rate) {
    return rate.value < 1 ? format("{} Mbit/s", static_cast<int>(rate.value * 1000 + 0.5))
                          : format("{} Gbit/s", rate.value);
}

// Nothing if a rank is not in the attempt, or both are on one node.
std::optional<HopSample> sample_of(const Attempt& attempt, const HopReport& report, int from,
                                   const HopRate& rate) {
    const int size = static_cast<int>(attempt.ranks.size());
    if (from < 0 || from >= size || report.rank < 0 || report.rank >= size) return std::nullopt;
    const auto node = [&](int rank) { return attempt.ranks[usize(rank)].device.node; };
    if (node(from) == node(report.rank)) return std::nullopt;
    return HopSample{.epoch = report.epoch,
                     .ends = {node(from), node(report.rank)},
                     .from_rank = from,
                     .to_rank = report.rank,
                     .stage = report.stage,
                     .step = report.step,
                     .rate = {rate.bytes_per_second * 8e-9}};
}

void log_drift(const LinkDrift& drift) {
    log_event(LogLevel::warning, drift.degraded ? "link_degraded" : "link_restored",
              {{"from", drift.ends.first},
               {"to", drift.ends.second},
               {"baseline", text_of(drift.baseline)},
               {"now", text_of(drift.now)}});
}

void log_choice(const AddressChoice& choice) {
    log_event(LogLevel::info, "data_address_chosen",
              {{"node", choice.node},
               {"from", choice.from},
               {"to", choice.to},
               {"before", choice.before.value > 0 ? text_of(choice.before) : "not reached by all"},
               {"now", text_of(choice.now)}});
}

void log_survey(const SurveyRecord& survey) {
    log_event(LogLevel::info, "survey",
              {{"number", survey.number},
               {"reason", survey.reason},
               {"nodes", survey.num_nodes},
               {"links", survey.num_links},
               {"failed", survey.num_failed},
               {"took", survey.ended - survey.started}});
    for (const std::string& error : survey.errors)
        log_event(LogLevel::warning, "probe_failed",
                  {{"survey", survey.number}, {"reason", error}});
}

// Everything that runs on a node.
struct Load {
    std::set<std::string> jobs;
    std::set<NodeId> sends_to;
};

void add(const State& state, const Attempt& attempt, std::map<NodeId, Load>& loads) {
    for (const NodeId& node : attempt.nodes())
        loads[node].jobs.insert(attempt.job.value);
    std::vector<DeviceId> ranks;
    for (const RankRecord& rank : attempt.ranks)
        ranks.push_back(rank.device);
    const JobTraffic traffic = traffic_of(find_job(state, attempt.job)->spec, attempt.mesh);
    for (const auto& [from, to] : node_links(traffic.phases, attempt.mesh, ranks))
        loads[from].sends_to.insert(to);
}

// A worker may offer some GPUs of its machine: their numbers have gaps. -1: it offers none.
int highest_device(const Inventory& inventory) {
    int highest = -1;
    for (const DeviceInfo& device : inventory.devices)
        highest = std::max(highest, device.index);
    return highest;
}

}  // namespace

SurveyLoop::SurveyLoop(SurveyCore core, const Parts& parts)
    : parts_(parts), core_(std::move(core)), loop_([this](auto&) { return work(); }, until_due()) {}

Result<std::int64_t> SurveyLoop::request() {
    Result<std::int64_t> number = 0;
    {
        const std::lock_guard lock(core_mutex_);
        core_.set_nodes(present_nodes(), now());
        number = core_.request("request", now());
    }
    loop_.wake();
    return number;
}

SurveyView SurveyLoop::view() const {
    const std::lock_guard lock(core_mutex_);
    return {core_.book(), core_.progress(), last_, static_cast<int>(core_.nodes().size())};
}

LinkGraph SurveyLoop::graph(const std::vector<NodeId>& nodes) const {
    const std::lock_guard lock(core_mutex_);
    return core_.book().graph(nodes);
}

void SurveyLoop::probed(const NodeId& node, ProbeReport report) {
    const std::lock_guard lock(mutex_);
    reports_.emplace_back(node, std::move(report));
    loop_.wake();
}

// Does not wake the loop, which looks often enough.
void SurveyLoop::hopped(HopReport report) {
    const std::lock_guard lock(mutex_);
    hops_.push_back(std::move(report));
}

void SurveyLoop::take_hops() {
    std::vector<HopReport> reports;
    {
        const std::lock_guard lock(mutex_);
        reports = std::exchange(hops_, {});
    }
    std::vector<HopSample> samples;
    const auto live = parts_.control.read([&](const State& state) {
        std::set<Epoch> epochs;
        for (const Attempt* attempt : live_attempts(state))
            epochs.insert(attempt->epoch);
        for (const HopReport& report : reports) {
            if (!epochs.contains(report.epoch)) continue;
            for (const auto& [from, rate] : report.hops) {
                const auto sample = sample_of(state.attempts.at(report.epoch), report, from, rate);
                if (sample) samples.push_back(*sample);
            }
        }
        return epochs;
    });
    const std::lock_guard lock(core_mutex_);
    core_.set_live(live);
    for (const HopSample& sample : samples)
        core_.take(sample, now());
}

std::vector<SurveyNode> SurveyLoop::present_nodes() const {
    return parts_.control.read(survey_nodes);
}

Seconds SurveyLoop::until_due() const {
    const std::lock_guard lock(core_mutex_);
    return std::clamp(core_.due() - parts_.clock.mono(), Seconds{0}, kLook);
}

Seconds SurveyLoop::work() {
    std::vector<std::pair<NodeId, ProbeReport>> reports;
    {
        const std::lock_guard lock(mutex_);
        reports = std::exchange(reports_, {});
    }
    take_hops();
    std::vector<SurveyNode> nodes = present_nodes();
    std::vector<SurveyOutputs> outputs;
    {
        const std::lock_guard lock(core_mutex_);
        core_.set_nodes(std::move(nodes), now());
        for (const auto& [node, report] : reports)
            outputs.push_back(core_.take(node, report, now()));
        outputs.push_back(core_.tick(now()));
        for (const SurveyOutputs& output : outputs) {
            if (output.finished) last_ = output.finished;
        }
    }
    for (const SurveyOutputs& output : outputs)
        carry_out(output);
    return until_due();
}

void SurveyLoop::carry_out(const SurveyOutputs& outputs) {
    for (const ProbeCommand& command : outputs.commands)
        send(command);
    keep(outputs);
    for (const AddressChoice& choice : outputs.choices) {
        log_choice(choice);
        parts_.inputs.post(DataAddressChosen{choice.node, choice.to});
    }
    for (const LinkDrift& drift : outputs.drifts) {
        log_drift(drift);
        const auto& [from, to] = drift.ends;
        parts_.inputs.post(LinkDrifted{from, to, drift.baseline, drift.now, drift.degraded});
    }
    if (outputs.finished) log_survey(*outputs.finished);
}

void SurveyLoop::send(const ProbeCommand& command) {
    RunProbe run{.id = command.id,
                 .kind = command.kind,
                 .peer = command.to.id,
                 .address = command.to.address,
                 .port = command.to.probe_port,
                 .nonce = {},
                 .streams = {command.streams},
                 .each = command.each};
    if (command.kind == ProbeKind::link) {
        run.nonce = new_nonce();
        parts_.sessions.send(command.to.id, ExpectProbe{.nonce = run.nonce});
    }
    parts_.sessions.send(command.from.id, run);
}

void SurveyLoop::keep(const SurveyOutputs& outputs) {
    Status kept;
    if (!outputs.samples.empty()) kept = parts_.store.add(outputs.samples);
    if (kept && outputs.finished) {
        const LinkBook book = view().book;
        kept = parts_.store.finish(*outputs.finished, book);
    }
    if (kept) return;
    log_event(LogLevel::warning, "survey_not_kept", {{"reason", kept.error().message}});
}

std::vector<SurveyNode> survey_nodes(const State& state) {
    std::map<NodeId, Load> loads;
    for (const Attempt* attempt : live_attempts(state))
        add(state, *attempt, loads);
    std::vector<SurveyNode> nodes;
    for (const Node* node : nodes_by_registration(state)) {
        if (!node->session.up || node->session.probe_port == 0) continue;
        Load& load = loads[node->id];
        nodes.push_back({.id = node->id,
                         .address = node->inventory.data_address,
                         .probe_port = node->session.probe_port,
                         .num_devices = highest_device(node->inventory) + 1,
                         .jobs = std::move(load.jobs),
                         .sends_to = std::move(load.sends_to),
                         .network = node->session.network,
                         .candidates = node->session.data_addresses});
    }
    return nodes;
}

}  // namespace rm
