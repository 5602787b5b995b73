#pragma once

#include <array>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "spec/machine/probe.h"
#include "worker/probe/wire.h"

namespace rm {

// The receiving end of probes: counts what arrives. Serves only callers that present a nonce
// announced by the controller, for one control connection; closes all others. A connection may
// arrive shortly before its announcement, which takes another path. Holds at most kMaxConnections.
class ProbeServer {
public:
    static constexpr int kMaxConnections = 160;

    // `addresses`: those at which this worker may be probed, all private; one port serves them.
    static Result<std::unique_ptr<ProbeServer>> start(const std::vector<std::string>& addresses,
                                                      PortRange ports);
    ~ProbeServer();
    ProbeServer(const ProbeServer&) = delete;
    ProbeServer& operator=(const ProbeServer&) = delete;

    int port() const { return port_; }
    void expect(const ExpectProbe& announced);

private:
    using Nonce = std::array<char, kNonceBytes>;
    // The state of one announced nonce.
    struct Visit {
        MonoTime until;
        bool greeted = false;           // its control connection is open
        std::vector<UniqueFd> waiting;  // its data connections, for the next sample
    };
    struct Connection {
        UniqueFd socket;
        std::thread thread;
        bool ended = false;
    };

    ProbeServer(std::vector<UniqueFd> listeners, int port);
    void accept_all();
    void admit(UniqueFd socket);
    void reap();
    void serve(Connection& connection);
    bool wait_for_announcement(const Nonce& nonce);
    void keep_data(const Nonce& nonce, UniqueFd socket);
    void serve_control(const UniqueFd& socket, const Nonce& nonce);
    bool serve_sample(const UniqueFd& control, const Nonce& nonce, const ProbeMessage& wanted);
    std::vector<UniqueFd> take_data(const Nonce& nonce, std::size_t count);

    const std::vector<UniqueFd> listeners_;
    const int port_;
    const SystemClock clock_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false;
    std::map<Nonce, Visit> visits_;
    std::list<Connection> connections_;
    std::thread accepting_;
};

}  // namespace rm
