#include "engine/main/dry_run_command.h"

#include <fstream>
#include <utility>

#include "base/text.h"
#include "engine/dry_run/choose_memory.h"
#include "engine/dry_run/dry_job.h"
#include "engine/dry_run/hiding_chunk.h"
#include "engine/dry_run/timeline.h"
#include "engine/schedule/device_profile_json.h"
#include "engine/train/rank_config.h"
#include "kernels/cpu/cpu_kernels.h"
#include "spec/mesh.h"

namespace rm {
namespace {

constexpr Seconds kLinkLatency{10e-6};

// A job of ring-train's for a dry run, with the machine that the command line names.
class RequestedJob {
public:
    static Result<std::unique_ptr<RequestedJob>> make(const RingTrainConfig& config,
                                                      const DryRunRequest& request) {
        auto job = std::unique_ptr<RequestedJob>(new RequestedJob(config));
        RM_TRY(const ModelConfig model, resolve_model(config.spec, config.model));
        const Status fits = check_mesh(config.mesh(), model.dims());
        if (!fits) return under_key(fits.error(), "parallel");
        RM_RETURN_IF_ERROR(check_fp8(config.spec, model, config.mesh().size(Axis::tensor)));
        RM_RETURN_IF_ERROR(job->set_profile(request.profile));
        RM_RETURN_IF_ERROR(job->set_host_profile(request.host_profile));
        job->set_job(model, request.link_gbit);
        return job;
    }

    const RankSpec& rank() const { return job_->rank(); }
    const DeviceProfile* profile() const { return profile_ ? &*profile_ : nullptr; }
    StageShape shape(const StageSpec& stage) const {
        return job_->shape(stage, config_.memory_policy());
    }
    DryRunOptions options(const StageSpec& stage) const { return job_->options(stage); }

private:
    explicit RequestedJob(const RingTrainConfig& config) : config_(config) {}

    // Without a profile the dry run is about this machine: its kernels state their workspace.
    Status set_profile(const std::string& name) {
        const DType compute = compute_type(config_.spec);
        if (name.empty() && config_.device.is_cpu()) {
            like_ = make_cpu_kernels(
                {.num_threads = rank_config(config_, 0).num_threads, .compute = compute});
        }
        if (name.empty()) return {};
        RM_TRY(profile_, find_profile(name));
        if (profile_->compute != compute) {
            return invalid_argument(
                "--profile {}: its speeds are of {}, the job computes in {}; set precision or "
                "measure another with ring-bench device --dtype",
                name, to_string(profile_->compute), to_string(compute));
        }
        return check_8bit_speeds(config_.spec, *profile_);
    }
    Status set_host_profile(const std::string& name) {
        if (name.empty()) return {};
        RM_TRY(host_profile_, find_profile(name));
        return {};
    }
    void set_job(const ModelConfig& model, double link_gbit) {
        DryMachine machine{.profile = profile(),
                           .host_profile = host_profile_ ? &*host_profile_ : nullptr,
                           .like = like_.get()};
        if (link_gbit > 0) machine.links = uniform_links({kLinkLatency, link_gbit * 1e9 / 8});
        job_.emplace(config_.spec, model, Sharding{config_.mesh(), config_.spec.zero},
                     std::move(machine));
    }

    const RingTrainConfig& config_;
    std::optional<DeviceProfile> profile_, host_profile_;
    std::unique_ptr<Kernels> like_;
    std::optional<DryJob> job_;
};

Status write_figure(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) return make_error(ErrorCode::unavailable, "cannot write {}", path);
    return {};
}

std::string title_of(const RingTrainConfig& config, const RequestedJob& job,
                     const StageSpec& stage) {
    return format("{}, {} tokens, {}{}: a step of one rank", config.spec.model.name(),
                  stage.context, to_string(config.mesh()),
                  job.profile() == nullptr ? "" : " on " + job.profile()->name);
}

struct Limit {
    Bytes taken;
    Bytes limit;  // 0: none
    std::string source;
};

// The limits of the device and of the host.
std::vector<Limit> limits_of(const Prediction& prediction, const MemoryPolicy& policy,
                             const DeviceProfile* profile) {
    std::vector<Limit> limits = {
        {prediction.device_total(), policy.device, "memory.device"},
        {prediction.host_total(), policy.host, "memory.host"},
    };
    if (policy.device.value == 0 && profile != nullptr)
        limits.push_back({prediction.device_total(), profile->memory, "the " + profile->name});
    std::erase_if(limits, [](const Limit& limit) { return limit.limit.value == 0; });
    return limits;
}

std::string verdict_line(const Limit& limit) {
    return format("  {}{} of {} ({})\n",
                  limit.taken <= limit.limit ? "fits          " : "does not fit  ", limit.taken,
                  limit.limit, limit.source);
}

// In windows: the chunk beside the shortest ones that hide their transfers.
Result<std::string> chunk_line(const RequestedJob& job, const StageShape& shape,
                               const NumericTypes& types) {
    if (shape.memory.working != WorkingSet::windows || job.profile() == nullptr)
        return std::string();
    RM_TRY(const RankLayout layout,
           make_rank_layout(shape.context, job.rank().mesh, job.rank().rank, shape.memory));
    const RankSpec& rank = job.rank();
    const auto [forward, backward] =
        hiding_chunks(rank.model, layout, types, *job.profile(), rank.attention);
    return format(
        "  chunk         {} tokens; attention hides its transfers from {} (forward) and {} "
        "(backward) on\n",
        shape.memory.chunk_tokens, forward, backward);
}

Result<DryRunAnswer> describe_stage(const RequestedJob& job, const StageSpec& stage,
                                    std::size_t number, const StepTimeline& timeline) {
    const StageShape shape = job.shape(stage);
    RM_TRY(const Prediction prediction, predict(job.rank(), shape, job.options(stage)));
    DryRunAnswer answer{format("step of stage {}, of one rank\n", number) +
                        describe(prediction, job.profile())};
    RM_TRY(const std::string chunk, chunk_line(job, shape, job.options(stage).types));
    answer.text += chunk;
    for (const Limit& limit : limits_of(prediction, shape.memory, job.profile())) {
        answer.text += verdict_line(limit);
        answer.fits = answer.fits && limit.taken <= limit.limit;
    }
    answer.text +=
        format("  device arena over the step, {}:\n{}",
               timeline.timed ? to_string(Seconds{timeline.length}) : "request by request",
               plot(timeline.device, timeline.length));
    if (prediction.host.planned.value > 0)
        answer.text += format("  host arena:\n{}", plot(timeline.host, timeline.length));
    return answer;
}

}  // namespace

Result<DeviceProfile> find_profile(const std::string& name_or_file) {
    std::vector<std::string> known;
    for (DeviceProfile& profile : published_profiles()) {
        if (profile.name == name_or_file) return std::move(profile);
        known.push_back(profile.name);
    }
    if (std::ifstream(name_or_file)) return read_device_profile(name_or_file);
    return make_error(ErrorCode::not_found,
                      "--profile {}: neither a file nor one of {}; ring-bench device --out FILE "
                      "measures this machine",
                      name_or_file, join(known));
}

Result<MemoryPolicy> plan_memory(const RingTrainConfig& config, const DryRunRequest& request) {
    const MemorySpec& memory = config.spec.memory;
    if (!memory.device && !memory.host) return resolve_memory(memory);
    RM_TRY(const std::unique_ptr<RequestedJob> job, RequestedJob::make(config, request));
    const StageSpec& stage = longest_stage(config.spec);
    RM_TRY(const ChosenMemory chosen,
           choose_memory(job->rank(), job->shape(stage), memory, job->options(stage)));
    return chosen.policy;
}

Result<DryRunAnswer> describe_dry_run(const RingTrainConfig& config, const DryRunRequest& request) {
    RM_TRY(const std::unique_ptr<RequestedJob> job, RequestedJob::make(config, request));
    DryRunAnswer answer;
    std::size_t number = 0;
    for (const StageSpec& stage : config.spec.stages) {
        RM_TRY(const StepTimeline timeline,
               timeline_of(job->rank(), job->shape(stage), job->options(stage)));
        RM_TRY(const DryRunAnswer of_stage, describe_stage(*job, stage, ++number, timeline));
        answer.text += of_stage.text;
        answer.fits = answer.fits && of_stage.fits;
        if (!request.figure.empty() && number == config.spec.stages.size()) {
            RM_RETURN_IF_ERROR(
                write_figure(request.figure, to_svg(timeline, title_of(config, *job, stage))));
        }
    }
    if (job->profile() == nullptr) {
        answer.text +=
            "times: none without --profile NAME|FILE; `ring-bench device --out FILE` measures this "
            "machine\n";
    } else if (request.link_gbit == 0 && config.mesh().num_ranks() > 1) {
        answer.text += "links: messages take no time without --link GBIT\n";
    }
    return answer;
}

}  // namespace rm
