#include <set>

#include "base/text.h"
#include "controller/core/handlers.h"

namespace rm {
namespace {

// An older attempt that may still be publishing; null: none. For a recovered job it is unknown
// which attempts were allowed to.
const Attempt* rival(const State& state, const Attempt& asking) {
    const bool recovered = find_job(state, asking.job)->recovered;
    for (const Epoch epoch : state.attempts_of.at(asking.job)) {
        const Attempt& older = state.attempts.at(epoch);
        if (epoch < asking.epoch && (older.may_publish || recovered) && !older.cleared())
            return &older;
    }
    return nullptr;
}

std::string uncleared_nodes(const Attempt& attempt) {
    std::set<NodeId> nodes;
    for (const DeviceId& device : attempt.held())
        nodes.insert(device.node);
    return nodes.empty() ? "that have not spoken yet" : join(nodes);
}

// FAILED_PRECONDITION is final; after UNAVAILABLE, asking again may succeed.
Status check_publisher(const State& state, Epoch epoch) {
    const Attempt* attempt = find_attempt(state, epoch);
    const auto refused = [&](const std::string& why) {
        return make_error(ErrorCode::failed_precondition,
                          "attempt {} {}: it must not publish checkpoints", epoch, why);
    };
    if (attempt == nullptr) return refused("is not known here");
    if (is_terminal(attempt->state)) {
        return refused(format("has ended as {}", to_string(attempt->state)));
    }
    if (const Attempt* older = rival(state, *attempt)) {
        return make_error(ErrorCode::unavailable,
                          "attempt {} has to wait for attempt {}, which may be publishing still "
                          "until nodes {} say that nothing is left",
                          epoch, older->epoch, uncleared_nodes(*older));
    }
    return {};
}

}  // namespace

void handle(Step& step, const AskToPublish& input) {
    if (const Status may = check_publisher(step.state(), input.epoch); !may) {
        return step.reply(may.error());
    }
    step.change_attempt(input.epoch, "attempt.may_publish",
                        [](Attempt& attempt) { attempt.may_publish = true; });
    step.reply(JobId{});
}

}  // namespace rm
