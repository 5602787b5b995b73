#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/server.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "service/address.h"
#include "service/grpc/poller_alarm.h"
#include "service/security/client_security.h"
#include "service/security/pki.h"

// gRPC as the project uses it. This header pulls in gRPC: include it in few sources.
namespace rm {

class Gatekeeper;

// The codes are the same numbers on both sides; the message crosses unchanged.
grpc::Status to_grpc(const Error& error);
grpc::Status to_grpc(const Status& status);
Error from_grpc(const grpc::Status& status);  // of a status that is not OK

// A lazily connecting channel that pings every 10 s, also while no call is open, and tries again
// within 2 s after a lost connection. INVALID_ARGUMENT for an address check_address refuses, or
// credentials that cannot be read.
Result<std::shared_ptr<grpc::Channel>> make_channel(std::string_view address,
                                                    const ClientSecurity& security = {});
// Called before a call is retried: waits while the channel cannot connect. Such a channel fails
// calls at once, and between calls gRPC polls it only every 5 s, too rarely to finish a TLS
// handshake.
void connect_again(grpc::Channel& channel, Seconds limit);

// Called, on any thread, when a server of this process no longer accepts connections: it once ran
// out of descriptors, and gRPC does not try again. Existing connections stay open. Only a restart
// of the process helps.
void when_listener_ends(std::function<void(const std::string& why)> call);

// The protection of a server.
struct ServerSecurity {
    std::optional<KeyPair> tls;              // every TCP address speaks TLS; none: plain loopback
    const Gatekeeper* gatekeeper = nullptr;  // outlives the server; null: every call is allowed
};

// How long a server keeps a silent connection.
struct KeepAlive {
    Seconds ping{10};    // with a call open and nothing else to hear
    Seconds answer{15};  // to such a ping, or the connection ends
    Seconds idle{600};   // without a call
};

// A listening server with health service and reflection.
class GrpcServer {
public:
    // UNAVAILABLE names the address that is in use. The services outlive the server.
    static Result<std::unique_ptr<GrpcServer>> start(const std::vector<std::string>& addresses,
                                                     const std::vector<grpc::Service*>& services,
                                                     const ServerSecurity& security = {},
                                                     const KeepAlive& keep_alive = {});
    ~GrpcServer();  // shutdown(Seconds{0})
    GrpcServer(const GrpcServer&) = delete;
    GrpcServer& operator=(const GrpcServer&) = delete;

    // As given, with the bound port in place of port 0.
    const std::vector<std::string>& addresses() const { return addresses_; }

    // Refuses new calls; open calls get `grace` to end, then are cancelled. Returns when none is
    // left.
    void shutdown(Seconds grace);

private:
    GrpcServer() = default;
    std::vector<std::string> addresses_;
    std::unique_ptr<grpc::Server> server_;
    std::unique_ptr<PollerAlarm> alarm_;
};

}  // namespace rm
