#include "service/grpc/grpc_util.h"

#include <absl/synchronization/mutex.h>
#include <arpa/inet.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_builder.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>

#include "base/os/unique_fd.h"
#include "service/log.h"
#include "service/security/credentials.h"
#include "service/security/grpc_auth.h"

namespace rm {
namespace {

constexpr std::string_view kUnix = "unix:";
// The interval of pings to clients with a call open. Sessions ping and echo every 5 s by
// themselves: a connection that carries one stays below this and costs no pings of its own.
constexpr int kPingMillis = 10'000;
constexpr int kPingTimeoutMillis = 15000;
constexpr int kHandshakeMillis = 15'000;  // an overloaded machine needs seconds
constexpr int kWindowBytes = 256 << 10;
// One job with all its attempts, one look at all ranks that run: at 1,024 ranks an attempt is 60
// KB.
constexpr int kMaxReplyBytes = 64 << 20;
constexpr int kFirstBackoffMillis = 100;
constexpr int kMaxBackoffMillis = 2000;
constexpr int kConnectTimeoutMillis = 10'000;

// Installed as gRPC's log function, of which a process has one.
std::mutex listener_mutex;
std::function<void(const std::string&)> listener_ended;

// gRPC 1.51 stops watching a socket for ever when accept4() fails on it, and only logs that.
void notice_listener(std::string_view message) {
    if (message.find("Failed accept4") == std::string_view::npos) return;
    const std::lock_guard lock(listener_mutex);
    if (listener_ended) listener_ended(std::string(message));
}

// Logs gRPC's own messages as events. Its errors become warnings: those that matter also come back
// as a status.
void log_from_grpc(gpr_log_func_args* args) {
    const auto level =
        args->severity == GPR_LOG_SEVERITY_ERROR ? LogLevel::warning : LogLevel::debug;
    log_event(level, "grpc", {{"message", args->message}});
    notice_listener(args->message);
}

// Debian builds abseil with its search for lock cycles, which gRPC then pays on every lock: with
// 10,000 sessions a third of the controller's time.
void set_up_grpc() {
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    gpr_set_log_function(log_from_grpc);
}

// A socket file without a server is left over from a crash, and gRPC may replace it. gRPC would
// also replace a served one and take the address from its owner, so this refuses that.
bool is_served(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return fd && ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

Error in_use(const std::string& address, std::string_view why) {
    return make_error(ErrorCode::unavailable,
                      "cannot listen on {}: {}; stop what listens there or choose another address",
                      address, why);
}

// gRPC reports a failed bind at length; the system's error says it in three words.
Status check_free(const HostPort& address) {
    const bool v6 = address.host.find(':') != std::string::npos;
    sockaddr_storage storage{};
    const auto port = htons(static_cast<std::uint16_t>(address.port));
    if (v6) {
        auto* in = reinterpret_cast<sockaddr_in6*>(&storage);
        *in = {.sin6_family = AF_INET6, .sin6_port = port};
        inet_pton(AF_INET6, address.host.c_str(), &in->sin6_addr);
    } else {
        auto* in = reinterpret_cast<sockaddr_in*>(&storage);
        *in = {.sin_family = AF_INET, .sin_port = port};
        inet_pton(AF_INET, address.host.c_str(), &in->sin_addr);
    }
    const UniqueFd fd(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) return in_use(to_string(address), std::strerror(errno));
    // As gRPC does: closing connections of a predecessor do not count.
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const auto size = static_cast<socklen_t>(v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&storage), size) == 0) return {};
    return in_use(to_string(address), std::strerror(errno));
}

// One listening address as gRPC takes it, with the place where it writes the bound port.
struct Listener {
    std::string given;
    bool is_unix = false;
    HostPort tcp;
    int bound_port = 0;

    std::string target() const { return is_unix ? given : to_string(tcp); }
};

Result<Listener> to_listener(const std::string& address, Wire wire) {
    if (!address.starts_with(kUnix)) {
        RM_TRY(const HostPort parsed, parse_listener(address, wire));
        RM_RETURN_IF_ERROR(check_free(parsed));
        return Listener{.given = address, .tcp = parsed};
    }
    RM_RETURN_IF_ERROR(check_address(address));
    if (is_served(address.substr(kUnix.size()))) return in_use(address, "Address already in use");
    return Listener{.given = address, .is_unix = true};
}

Result<std::vector<Listener>> to_listeners(const std::vector<std::string>& addresses, Wire wire) {
    if (addresses.empty()) return invalid_argument("no address to listen on; give one or more");
    std::vector<Listener> listeners;
    for (const std::string& address : addresses) {
        RM_TRY(Listener listener, to_listener(address, wire));
        listeners.push_back(std::move(listener));
    }
    return listeners;
}

CallTransport transport_of(const Listener& listener, const ServerSecurity& security) {
    if (listener.is_unix) return CallTransport::unix_socket;
    return security.tls ? CallTransport::tls : CallTransport::loopback;
}

void add_interceptors(grpc::ServerBuilder& builder, const ServerSecurity& security) {
    if (security.gatekeeper == nullptr) return;
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
    creators.push_back(make_audit_interceptor(*security.gatekeeper));
    builder.experimental().SetInterceptorCreators(std::move(creators));
}

int millis(Seconds seconds) {
    return static_cast<int>(seconds.value * 1e3);
}

// A client with a call open must answer pings. Some clients (Python's) look at their connection
// only during a call: without one the server does not ping them, and closes the connection once it
// has been idle for long.
void set_keepalive(grpc::ServerBuilder& builder, const KeepAlive& keep_alive) {
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, millis(keep_alive.ping));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, millis(keep_alive.answer));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, millis(keep_alive.idle));
    // Clients may ping as often as they like, also without a call: an answer is cheap, and gRPC
    // would take two pings of an idle client within two hours for an attack.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

void set_server_options(grpc::ServerBuilder& builder) {
    // Without this a second server on the port would silently share it.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    // For TLS, and for the first frame after it: a connection that says nothing holds a descriptor.
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMillis);
    // Measuring a connection's bandwidth-delay product would cost a ping for each message and a
    // timer for each ping. A window of one log chunk is sufficient.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
    builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
}

std::chrono::system_clock::time_point deadline_in(Seconds seconds) {
    return std::chrono::system_clock::now() +
           std::chrono::milliseconds(static_cast<std::int64_t>(seconds.value * 1e3));
}

}  // namespace

grpc::Status to_grpc(const Error& error) {
    return {static_cast<grpc::StatusCode>(error.code), error.message};
}

grpc::Status to_grpc(const Status& status) {
    return status ? grpc::Status() : to_grpc(status.error());
}

Error from_grpc(const grpc::Status& status) {
    RM_CHECK(!status.ok(), "from_grpc of a status that is OK");
    return {static_cast<ErrorCode>(status.error_code()), status.error_message()};
}

void when_listener_ends(std::function<void(const std::string&)> call) {
    const std::lock_guard lock(listener_mutex);
    listener_ended = std::move(call);
}

void connect_again(grpc::Channel& channel, Seconds limit) {
    if (channel.GetState(false) != GRPC_CHANNEL_TRANSIENT_FAILURE) return;
    channel.WaitForConnected(deadline_in(limit));
}

Result<std::shared_ptr<grpc::Channel>> make_channel(std::string_view address,
                                                    const ClientSecurity& security) {
    set_up_grpc();  // first, so that gRPC's complaints about certificates reach the log
    RM_TRY(const auto credentials, channel_credentials(address, security));
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingMillis);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMillis);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetMaxReceiveMessageSize(kMaxReplyBytes);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstBackoffMillis);
    // Despite its name the time a connection may take to be made; a busy machine needs more than
    // 100 ms.
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMillis);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxBackoffMillis);
    // Ignores the environment's proxy: controllers are on this machine or in a private
    // network.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    if (!security.server_name.empty()) {
        arguments.SetSslTargetNameOverride(security.server_name);
    }
    return grpc::CreateCustomChannel(std::string(address), credentials, arguments);
}

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(const std::vector<std::string>& addresses,
                                                      const std::vector<grpc::Service*>& services,
                                                      const ServerSecurity& security,
                                                      const KeepAlive& keep_alive) {
    RM_TRY(std::vector<Listener> listeners,
           to_listeners(addresses, security.tls ? Wire::tls : Wire::plain));
    set_up_grpc();
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    set_server_options(builder);
    set_keepalive(builder, keep_alive);
    add_interceptors(builder, security);
    for (Listener& listener : listeners) {
        RM_TRY(const auto credentials,
               server_credentials(listener.target(), transport_of(listener, security), security));
        builder.AddListeningPort(listener.target(), credentials, &listener.bound_port);
    }
    for (grpc::Service* service : services)
        builder.RegisterService(service);
    std::unique_ptr<GrpcServer> server(new GrpcServer);
    server->server_ = builder.BuildAndStart();
    for (Listener& listener : listeners) {
        if (listener.bound_port == 0) {
            return in_use(listener.given, "gRPC could not listen there");
        }
        if (!listener.is_unix) listener.tcp.port = listener.bound_port;
        server->addresses_.push_back(listener.target());
    }
    RM_CHECK(server->server_ != nullptr, "gRPC bound every address and did not start");
    server->alarm_ = std::make_unique<PollerAlarm>(*server->server_);
    return server;
}

GrpcServer::~GrpcServer() {
    shutdown(Seconds{0});
}

void GrpcServer::shutdown(Seconds grace) {
    if (!server_) return;
    alarm_.reset();
    server_->Shutdown(deadline_in(grace));
    server_->Wait();
    server_.reset();
}

}  // namespace rm
