#include "tests/sim/clients.h"

#include <memory>

namespace rm::sim {
namespace {

const std::string kReason = "for the simulation";

}  // namespace

JobSpec Clients::make_spec(int number) {
    JobSpec spec;
    spec.name = format("job-{}", number);
    spec.model.preset = "tiny";
    spec.data.sources = {{"/data/text"}};
    const auto steps = static_cast<std::int64_t>(5 + sim_.below(30));
    spec.stages = {StageSpec{.context = 8192, .batch = 8192, .tokens = 8192 * steps}};
    const int ranks =
        1 + static_cast<int>(sim_.below(static_cast<std::size_t>(parts_.scenario.max_ranks)));
    if (sim_.chance(0.5)) {
        spec.parallel = Mesh::make(1, ranks, 1, 1).value();
    } else {
        spec.resources.devices = ranks;
    }
    if (sim_.chance(parts_.scenario.exports)) spec.exports.huggingface = "/exports/model";
    spec.retry.lost_after = Seconds{sim_.between(40, 200)};
    spec.priority = static_cast<int>(sim_.below(3));
    return spec;
}

void Clients::start() {
    look_after_nodes();
    for (int number = 0; number < parts_.scenario.jobs; ++number) {
        requests_.push_back({make_spec(number)});
        sim_.after(sim_.between(0, 0.6 * parts_.scenario.seconds),
                   [this, number] { submit(number); });
    }
}

void Clients::submit(int number) {
    if (requests_[static_cast<std::size_t>(number)].answered) return;
    send(number);
    if (sim_.chance(parts_.scenario.duplicate)) send(number);
    sim_.after(sim_.between(2, 10), [this, number] { submit(number); });
}

void Clients::send(int number) {
    sim_.after(sim_.between(0.001, 0.5), [this, number] {
        Request& request = requests_[static_cast<std::size_t>(number)];
        const RequestId id{format("r{}", number)};
        SubmitJob body{.request = id, .spec = request.spec, .yaml = "job", .random = sim_.random()};
        parts_.controller.post(std::move(body), [this, id, &request](const Result<JobId>& job) {
            if (!job || sim_.chance(parts_.scenario.lost_reply)) return;
            sim_.say("{} is job {}", id, *job);
            parts_.truth.acknowledged(id, *job, parts_.controller.durable());
            if (!request.answered) ++answered_;
            request.answered = true;
        });
    });
}

void Clients::cancel() {
    const auto& jobs = parts_.truth.jobs();
    if (jobs.empty()) return;
    auto job = jobs.begin();
    std::advance(job, sim_.below(jobs.size()));
    const StopMode mode = sim_.chance(0.5) ? StopMode::graceful : StopMode::now;
    sim_.say("cancel {}", job->second);
    parts_.controller.post(CancelJob{job->second, mode}, [](const Result<JobId>&) {});
}

void Clients::insist(const InputBody& body) {
    if (calm_ && std::holds_alternative<DrainNode>(body)) return;
    const auto done = std::make_shared<bool>(false);  // second owner: the answer
    parts_.controller.post(InputBody(body), [done](const Result<JobId>&) { *done = true; });
    sim_.after(5, [this, body, done] {
        if (!*done) insist(body);
    });
}

void Clients::drain(const NodeId& node) {
    sim_.say("drain {}", node);
    insist(DrainNode{node, kReason, sim_.chance(0.3)});
    sim_.after(sim_.between(10, 80), [this, node] { resume(node); });
}

// An admin looks after nodes that the controller itself has taken out of service.
void Clients::look_after_nodes() {
    for (const auto& [id, node] : parts_.controller.state().nodes) {
        if (!node.drained.empty() && node.drained != kReason) resume(id);
    }
    sim_.after(60, [this] { look_after_nodes(); });
}

void Clients::resume(const NodeId& node) {
    insist(ResumeNode{node});
}

void Clients::calm_down(const std::vector<NodeId>& nodes) {
    calm_ = true;
    for (const NodeId& node : nodes)
        sim_.after(sim_.between(20, 30), [this, node] { resume(node); });
}

void Clients::list() {
    parts_.controller.read([this](const State& state) {
        const State& durable = parts_.controller.durable();
        for (const auto& [id, job] : state.jobs) {
            const Job* known = find_job(durable, id);
            RM_CHECK(known != nullptr && known->state == job.state,
                     "job {} is listed as {} and is not so on disk", id, to_string(job.state));
        }
    });
}

}  // namespace rm::sim
