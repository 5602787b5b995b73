#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/core/apply.h"
#include "controller/core/input.h"
#include "tests/controller/event_log.h"
#include "tests/sim/disk.h"
#include "tests/sim/network.h"
#include "tests/sim/plants.h"
#include "tests/sim/truth.h"

// The controller's process: the product's core, with its loops and sessions reimplemented on
// virtual time by the same rules (controller/loops, controller/session.h).
namespace rm::sim {

class SimController final : public InputSink {
public:
    struct Parts {
        Simulator& sim;
        Network& network;
        Truth& truth;
        Plant plant = Plant::none;
        double slow_commit = 0;
    };
    explicit SimController(Parts parts) : parts_(parts), sim_(parts.sim) {}

    bool up() const { return up_; }
    void start();
    void kill(std::string_view why);  // and it starts again after a while
    // Restores the tables from the oldest backup kept; the workers have moved on since.
    void restore();
    void back_up();
    void fill_disk(double seconds);
    void jump_clock(double seconds) { clock_offset_ += seconds; }

    using InputSink::post;
    void post(InputBody body, OnAnswer on_answer) override;
    void receive(int stream, const Packet& packet);
    // Calls `reader` on durable state after any running commit; never if the process dies before.
    void read(std::function<void(const State&)> reader);

    const State& durable() const { return disk_.tables; }
    const State& state() const { return state_; }
    bool has_session(const NodeId& node) const;

private:
    struct Queued {
        InputBody body;
        OnAnswer on_answer;
    };
    struct Batch {
        std::vector<Queued> inputs;
        std::vector<Outcome> outcomes;
        Changes changes;
        std::vector<AuditEvent> events;
    };
    struct Session {
        NodeId node;  // empty: not claimed yet
        bool open = false;
        std::uint64_t nonce = 0;
        std::map<std::uint64_t, double> pings;
        double alive = 0;
    };

    WallTime wall() const;
    WallTime steady() const;
    // Acts only if the same process is still alive then.
    void later(double seconds, Simulator::Action action);
    void load();

    // controller_commit.cc
    void take_batch();
    Outcome apply_one(InputBody body, std::uint64_t token);
    void check(const Outcome& outcome, bool planned);
    void commit(Batch batch);
    void write(const Batch& batch);
    void release(Batch& batch);
    void release_effect(Batch& batch, Effect& effect);
    void release_early(Batch& batch);
    void let_readers_in();

    void tick();
    void request_plan();
    void plan();

    void take_hello(int stream, const Hello& hello);
    void open(int stream, const HelloReply& reply);
    void beat(int stream);
    void end(int stream);
    void send(const NodeId& node, const NodeCommand& command);

    const Parts parts_;
    Simulator& sim_;
    ControlDisk disk_;
    std::vector<ControlDisk> backups_;
    bool restored_ = false;  // and the tables do not know it yet
    double clock_offset_ = 0;
    WallTime started_;  // this process, by the clock at that time
    double started_at_ = 0;
    int life_ = 0;  // of the process

    bool up_ = false;
    State state_;
    Tables folded_;
    std::vector<Queued> queue_;
    std::optional<Batch> committing_;
    bool batch_due_ = false;
    std::vector<std::function<void(const State&)>> readers_;
    bool planning_ = false;
    bool plan_wanted_ = false;
    std::map<int, Session> sessions_;  // by stream
    std::map<NodeId, int> live_;
    void check_vanished(const State& state) const;
    void note_word(const InputBody& body);
    void check_silence(const AuditEvent& event) const;

    std::map<NodeId, double> down_;   // when their last session closed, in this life
    std::map<Epoch, double> spoken_;  // when a worker last reported running processes
    std::set<NodeId> unheard_;        // known to the restored backup, and not heard from since
};

}  // namespace rm::sim
