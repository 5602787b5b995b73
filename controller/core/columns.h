#pragma once

#include <string>

#include "controller/core/state.h"
#include "spec/cost/cost_members.h"
#include "spec/job_members.h"

// The durable columns of every table, once: storing, loading, events and comparing all walk these.
// `visit(name, value)` gets references. A name here is a column and a field of the event log.
// Opening control.db adds the columns that its tables lack; renaming or removing one takes a
// migration of store/schema.cc.
namespace rm {

template <typename T>
inline constexpr bool kIsDescribedList = false;
template <Described T>
inline constexpr bool kIsDescribedList<std::vector<T>> = true;
template <typename T>
concept DescribedList = kIsDescribedList<std::remove_const_t<T>>;

// The members of a described structure as columns: the columns of a nested part have its name as
// prefix; lists of structures have their own tables. Names of durations have no unit: all are
// seconds.
template <typename Visit>
class Columns {
public:
    Columns(Visit& visit, std::string prefix) : visit_(visit), prefix_(std::move(prefix)) {}

    template <typename T>
    void operator()(const Member& member, T& value) const {
        if constexpr (Described<T>) {
            Columns part(visit_, name_of(member) + "_");
            describe(part, value);
        } else if constexpr (!DescribedList<T>) {
            visit_(name_of(member) + (member.written == Written::steps ? "_steps" : ""), value);
        }
    }
    template <typename Steps, typename Time>
    void interval(const Member& member, Steps& steps, Time& time) const {
        visit_(name_of(member) + "_steps", steps);
        visit_(name_of(member), time);
    }
    template <typename M, typename Zero>
    void mesh(const Member& member, M& mesh, Zero& zero) const {
        visit_(name_of(member), mesh);
        visit_(prefix_ + "zero", zero);
    }

private:
    std::string name_of(const Member& member) const {
        return format("{}{}", prefix_, stored_name(member));
    }
    Visit& visit_;
    const std::string prefix_;
};
template <typename Visit>
void describe_columns(auto& value, Visit& visit) {
    const Columns<Visit> columns(visit, "");
    describe(columns, value);
}

void columns(Like<Job> auto& job, auto&& visit) {
    visit("id", job.id);
    visit("number", job.number);
    visit("request_id", job.request);
    visit("project", job.project);
    visit("owner", job.owner);
    visit("state", job.state);
    visit("submitted", job.submitted);
    visit("ended", job.ended);
    visit("blocking_reasons", job.blocking_reasons);
    visit("failure", job.failure);
    visit("retry_at", job.retry_at);
    visit("excluded", job.excluded);
    visit("continues", job.continues);
    visit("recovered", job.recovered);
    visit("yaml", job.yaml);
    describe_columns(job.spec, visit);
}

void columns(Like<StageSpec> auto& stage, auto&& visit) {
    describe_columns(stage, visit);
}
void columns(Like<SuiteSpec> auto& suite, auto&& visit) {
    describe_columns(suite, visit);
}
void columns(Like<PromptSpec> auto& prompt, auto&& visit) {
    describe_columns(prompt, visit);
}

void columns(Like<Attempt> auto& attempt, auto&& visit) {
    visit("epoch", attempt.epoch);
    visit("job", attempt.job);
    visit("state", attempt.state);
    visit("mesh", attempt.mesh);
    visit("zero", attempt.zero);
    const auto visit_memory = [&](const std::string& name, auto& value) {
        visit(name == "device" || name == "host" ? name + "_limit" : name, value);
    };
    describe_columns(attempt.memory, visit_memory);
    visit("network", attempt.network);
    visit("collective_timeout", attempt.collective_timeout);
    visit("predicted_step", attempt.predicted.step);
    visit("predicted_all", attempt.predicted.all);
    visit("predicted_device", attempt.predicted.device);
    visit("predicted_host", attempt.predicted.host);
    visit("predicted_correction", attempt.predicted.correction);
    visit("measured_step", attempt.measured_step);
    const Columns rates(visit, "rates_");
    describe(rates, attempt.rates);
    visit("started", attempt.started);
    visit("ended", attempt.ended);
    visit("stop_reason", attempt.stop_reason);
    visit("stop_mode", attempt.stop_mode);
    visit("cause", attempt.cause);
    visit("cause_rank", attempt.cause_rank);
    visit("failure_class", attempt.failure_class);
    visit("may_publish", attempt.may_publish);
    visit("checkpoint_step", attempt.checkpoint_step);
    visit("checkpoint_path", attempt.checkpoint_path);
    visit("stages_done", attempt.stages_done);
}

void columns(Like<RankRecord> auto& rank, auto&& visit) {
    visit("node", rank.device.node);
    visit("device", rank.device.index);
    visit("state", rank.state);
    visit("exit_code", rank.exit_code);
    visit("exit_signal", rank.exit_signal);
    visit("error", rank.error);
    visit("joules", rank.joules);
}

void columns(Like<Node> auto& node, auto&& visit) {
    auto& inventory = node.inventory;
    visit("id", node.id);
    visit("number", node.number);
    visit("state", node.state);
    visit("hostname", inventory.hostname);
    visit("os", inventory.os);
    visit("cpu_model", inventory.cpu_model);
    visit("num_cores", inventory.num_cores);
    visit("memory", inventory.memory);
    visit("data_address", inventory.data_address);
    visit("http_address", inventory.http_address);
    visit("gpu_driver", inventory.software.driver);
    visit("gpu_cuda", inventory.software.cuda);
    visit("gpu_nccl", inventory.software.nccl);
    visit("boot_id", node.boot_id);
    visit("build", node.build);
    visit("drained", node.drained);
    visit("removed", node.removed);
    visit("joined", node.joined);
    visit("last_seen", node.last_seen);
}

void columns(Like<DeviceInfo> auto& device, auto&& visit) {
    visit("device", device.index);
    visit("kind", device.kind);
    visit("memory", device.memory);
    visit("fp32_flops", device.fp32.flops);
    visit("fp32_name", device.fp32.name);
    visit("bf16_flops", device.bf16.flops);
    visit("bf16_name", device.bf16.name);
    visit("num_threads", device.num_threads);
    visit("host_memory", device.host_memory);
    visit("unfit", device.unfit);
    visit("lost", device.lost);
    visit("gpu_uuid", device.gpu.uuid);
    visit("gpu_product", device.gpu.product);
    visit("gpu_pci", device.gpu.pci);
    visit("gpu_bridge", device.gpu.bridge);
    visit("gpu_numa_node", device.gpu.numa_node);
    visit("gpu_compute", device.gpu.compute);
    visit("gpu_power_limit_watts", device.gpu.power_limit_watts);
}

void columns(Like<KeptProfile> auto& profile, auto&& visit) {
    visit("kind", profile.measured.kind);
    visit("driver", profile.measured.driver);
    visit("build", profile.measured.build);
    visit("bf16_flops", profile.measured.bf16_flops);
    visit("text", profile.measured.text);
    visit("node", profile.node);
    visit("time", profile.time);
}

void columns(Like<State> auto& state, auto&& visit) {
    visit("cluster_id", state.cluster);
    visit("next_epoch", state.next_epoch);
    visit("restored", state.restored);
}

}  // namespace rm
