#include "controller/core/roots/job_files.h"
#include "controller/ops/checks.h"
#include "controller/ops/jobs/plan_job.h"
#include "controller/ops/ops.h"
#include "planner/memory.h"
#include "planner/mesh.h"
#include "service/convert/convert.h"
#include "spec/machine/roots.h"

namespace rm {
namespace {

constexpr std::size_t kMaxYaml = 1 << 20;

// Workers read the paths, and their working directories are unknown here.
Status check_path(std::string_view key, const std::string& path) {
    if (path.empty() || path.front() == '/' || parse_root_path(path)) return {};
    return invalid_argument(
        "{}: '{}' must be an absolute path, as workers see it, or ROOT:PATH below one of their "
        "roots",
        key, path);
}

Status check_request(const pb::SubmitRequest& request) {
    RM_RETURN_IF_ERROR(check_request_id(request.request_id(), "submission"));
    if (request.spec().yaml().size() > kMaxYaml) {
        return invalid_argument("yaml: {} bytes; at most {}", request.spec().yaml().size(),
                                kMaxYaml);
    }
    return check_message(request);
}

Status check_spec(const JobSpec& spec) {
    RM_RETURN_IF_ERROR(validate(spec));
    RM_RETURN_IF_ERROR(check_path("model.from", spec.model.from));
    for (const DataSource& source : spec.data.sources)
        RM_RETURN_IF_ERROR(check_path("data.path", source.path));
    if (spec.data.tokenizer != "bytes") {
        RM_RETURN_IF_ERROR(check_path("data.tokenizer", spec.data.tokenizer));
    }
    RM_RETURN_IF_ERROR(check_path("export.huggingface", spec.exports.huggingface));
    RM_RETURN_IF_ERROR(check_path("checkpoint.dir", spec.checkpoint.dir));
    RM_RETURN_IF_ERROR(check_path("checkpoint.from", spec.checkpoint.from));
    // With `parallel: auto` and a number of devices, whether any mesh fits is known now.
    const std::optional<int> ranks = spec.num_ranks();
    if (spec.parallel || !ranks) return {};
    if (const auto mesh = auto_mesh(spec, *ranks); !mesh) {
        return invalid_argument("resources.{}: {}",
                                spec.resources.devices > 0 ? "devices" : "placement",
                                mesh.error().message);
    }
    return {};
}

// Nodes by their whole ids. They may be away or busy, but they must be known.
Status resolve_placement(const State& state, std::vector<DeviceId>& placement) {
    for (std::size_t rank = 0; rank < placement.size(); ++rank) {
        const auto node = resolve_node(state, placement[rank].node.value);
        if (!node) {
            return invalid_argument("resources.placement[{}]: {}; `ringmaster nodes` lists them",
                                    rank, node.error().message);
        }
        placement[rank].node = *node;
    }
    return {};
}

}  // namespace

Result<pb::SubmitReply> submit_job(OpsContext& context, const pb::SubmitRequest& request,
                                   const Principal& caller) {
    RM_RETURN_IF_ERROR(context.space.check_submit());
    RM_RETURN_IF_ERROR(check_request(request));
    RM_TRY(JobSpec spec, from_proto(request.spec()));
    RM_RETURN_IF_ERROR(check_priority(spec.priority, caller));
    RM_RETURN_IF_ERROR(context.control.read(
        [&](const State& state) { return resolve_placement(state, spec.resources.placement); }));
    RM_RETURN_IF_ERROR(check_spec(spec));
    RM_RETURN_IF_ERROR(check_preset_fits(
        spec, context.control.read([&](const State& state) { return devices_for(state, spec); })));
    RM_RETURN_IF_ERROR(check_some_plan_fits(context, spec));
    SubmitJob job{.request = {request.request_id()},
                  .spec = spec,
                  .yaml = request.spec().yaml(),
                  .random = context.random()};
    if (!caller.is_local()) job.owner = caller.name;
    RM_TRY(const JobId id, context.control.call(std::move(job)));
    pb::SubmitReply reply;
    reply.set_job_id(id.value);
    for (const std::string& warning :
         context.control.read([&](const State& state) { return warnings_about(state, spec); })) {
        reply.add_warnings(warning);
    }
    return reply;
}

}  // namespace rm
