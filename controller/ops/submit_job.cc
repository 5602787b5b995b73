#include "base/roots.h"
#include "controller/ops/ops.h"
#include "controller/plan_trivial.h"
#include "service/convert.h"

namespace rm {
namespace {

constexpr std::size_t kMaxRequestId = 128;
constexpr std::size_t kMaxYaml = 1 << 20;

// Paths are read by workers, whose working directory nobody knows.
Status check_path(std::string_view key, const std::string& path) {
    if (path.empty() || path.front() == '/' || parse_root_path(path)) return {};
    return invalid_argument(
        "{}: '{}' must be an absolute path, as workers see it, or ROOT:PATH below one of their "
        "roots",
        key, path);
}

Status check_request(const pb::SubmitRequest& request) {
    const std::string& id = request.request_id();
    if (id.empty() || id.size() > kMaxRequestId) {
        return invalid_argument("request_id: {} bytes; give 1 to {}, new for each submission",
                                id.size(), kMaxRequestId);
    }
    if (request.spec().yaml().size() > kMaxYaml) {
        return invalid_argument("yaml: {} bytes; at most {}", request.spec().yaml().size(),
                                kMaxYaml);
    }
    return {};
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
    if (spec.parallel || spec.resources.devices == 0) return {};
    if (const auto mesh = auto_mesh(spec, spec.resources.devices); !mesh) {
        return invalid_argument("resources.devices: {}", mesh.error().message);
    }
    return {};
}

}  // namespace

Result<pb::SubmitReply> submit_job(OpsContext& context, const pb::SubmitRequest& request,
                                   const Principal& caller) {
    RM_RETURN_IF_ERROR(context.space.check_submit());
    RM_RETURN_IF_ERROR(check_request(request));
    RM_TRY(const JobSpec spec, from_proto(request.spec()));
    RM_RETURN_IF_ERROR(check_spec(spec));
    SubmitJob job{.request = {request.request_id()},
                  .spec = spec,
                  .yaml = request.spec().yaml(),
                  .random = context.random()};
    if (!caller.is_local()) job.owner = caller.name;
    RM_TRY(const JobId id, context.control.call(std::move(job)));
    pb::SubmitReply reply;
    reply.set_job_id(id.value);
    return reply;
}

}  // namespace rm
