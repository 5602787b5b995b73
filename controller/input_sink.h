#pragma once

#include <functional>

#include "controller/core/input.h"

namespace rm {

// Called once, after the input's event is durable; on the control thread, so it must be quick.
using OnAnswer = std::function<void(Result<JobId>)>;

// Where inputs go. Thread safe; inputs of one thread are applied in the order they were posted.
class InputSink {
public:
    virtual ~InputSink() = default;
    virtual void post(InputBody body, OnAnswer on_answer) = 0;
    void post(InputBody body) { post(std::move(body), nullptr); }
};

}  // namespace rm
