#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spec/session.h"
#include "worker/agent/telemetry_spool.h"

namespace rm {

// A scripted controller over real gRPC, for one worker.
class FakeController {
public:
    explicit FakeController(const std::string& address, ClusterId cluster = {"c1"});
    ~FakeController();

    const std::string& address() const { return address_; }
    // Waits for the hello of the next session, which the greeting answers.
    std::optional<Hello> wait_hello();
    void send(ControllerMessage message);
    // Waits until a message of the kind arrives for which `wanted` holds; others are dropped.
    std::optional<AttemptStatus> wait_status(
        const std::function<bool(const AttemptStatus&)>& wanted);
    std::optional<CommandRefused> wait_refusal();
    bool ping(std::uint64_t nonce);
    // Ends the current session and telemetry streams.
    void drop_streams();

    // Received by telemetry from a rank.
    std::vector<StepReport> steps(int rank) const;
    std::vector<EvaluationReport> evaluations(int rank) const;
    std::string log(int rank) const;
    int num_exchanges() const;
    enum class Telemetry { acknowledge, keep_silent, leave_unread };
    void set_telemetry(Telemetry mode);

private:
    struct Impl;
    std::string address_;
    std::unique_ptr<Impl> impl_;
};

}  // namespace rm
