#include "controller/ops/ops.h"
#include "controller/ops/views.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

pb::LinkSample to_message(const KeptSample& sample) {
    pb::LinkSample message;
    message.set_survey(sample.survey);
    *message.mutable_time() = to_proto(sample.time);
    message.set_streams(sample.bandwidth.streams);
    message.set_bandwidth(sample.bandwidth.rate.value);
    message.set_bytes(sample.bandwidth.bytes.value);
    message.set_seconds(sample.bandwidth.seconds.value);
    message.set_loss(sample.bandwidth.loss);
    message.set_latency(sample.latency.value);
    message.set_jitter(sample.jitter.value);
    message.set_beside(sample.beside);
    message.set_measured_by(sample.measured_by.value);
    return message;
}

}  // namespace

Result<pb::LinkHistoryReply> link_history(OpsContext& context, SurveyStore& store,
                                          const pb::LinkHistoryRequest& request) {
    const auto resolved = [&](const std::string& text) {
        return context.control.read([&](const State& state) { return resolve_node(state, text); });
    };
    RM_TRY(const NodeId from, resolved(request.from()));
    RM_TRY(const NodeId to, resolved(request.to()));
    RM_TRY(const std::vector<KeptSample> samples,
           store.history({from, to}, page_size(request.limit())));
    pb::LinkHistoryReply reply;
    reply.set_from(from.value);
    reply.set_to(to.value);
    for (const KeptSample& sample : samples)
        *reply.add_samples() = to_message(sample);
    return reply;
}

}  // namespace rm
