#pragma once

#include "tests/sim/controller.h"
#include "tests/sim/scenario.h"

// Clients that submit, cancel, drain and list, and try again when no answer comes.
namespace rm::sim {

class Clients {
public:
    struct Parts {
        Simulator& sim;
        Truth& truth;
        SimController& controller;
        const Scenario& scenario;
    };
    explicit Clients(Parts parts) : parts_(parts), sim_(parts.sim) {}

    void start();
    void cancel();  // some job
    void drain(const NodeId& node);
    // Stops draining and resumes drained nodes.
    void calm_down(const std::vector<NodeId>& nodes);
    void list();
    bool all_answered() const { return answered_ == parts_.scenario.jobs; }

private:
    struct Request {
        JobSpec spec;
        bool answered = false;
    };
    void submit(int number);
    void send(int number);
    void resume(const NodeId& node);
    void look_after_nodes();
    // Repeats the request until it is answered.
    void insist(const InputBody& body);
    JobSpec make_spec(int number);

    const Parts parts_;
    Simulator& sim_;
    std::vector<Request> requests_;
    int answered_ = 0;
    bool calm_ = false;
};

}  // namespace rm::sim
