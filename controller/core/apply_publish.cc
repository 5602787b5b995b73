#include "controller/core/handlers.h"

namespace rm {

void handle(Step& step, const AskToPublish& input) {
    const Attempt* attempt = find_attempt(step.state(), input.epoch);
    if (attempt == nullptr || is_terminal(attempt->state)) {
        return step.reply(make_error(ErrorCode::failed_precondition,
                                     "attempt {} {}: nothing of it is published", input.epoch,
                                     attempt == nullptr ? "is not known here" : "has ended"));
    }
    step.change_attempt(input.epoch, "attempt.may_publish",
                        [](Attempt& changed) { changed.may_publish = true; });
    step.reply(JobId{});
}

}  // namespace rm
