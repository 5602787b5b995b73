#include "cli/client/client.h"

#include <grpcpp/client_context.h>

#include <chrono>
#include <thread>

#include "base/format.h"
#include "service/grpc/grpc_util.h"
#include "service/security/client_security.h"

namespace rm {
namespace {

constexpr auto kCallLimit = std::chrono::seconds(20);
constexpr Seconds kStreamPause{1};  // Ctrl-C takes effect after it
constexpr Seconds kPauses[] = {Seconds{0.5}, Seconds{1.5}};

// gRPC's description of a failed connection ends in the system's error message, after a colon.
std::string short_reason(const std::string& words) {
    std::string text = words.substr(0, words.find_last_not_of(" .;\n\r") + 1);
    for (const std::string_view known :
         {"Connection refused", "No such file or directory", "Connection reset by peer",
          "No route to host", "Network is unreachable", "Permission denied", "Socket closed",
          "Connection timed out", "DNS resolution failed"}) {
        if (text.find(known) == std::string::npos) continue;
        std::string lower(known);
        if (!known.starts_with("DNS")) lower[0] = static_cast<char>(std::tolower(lower[0]));
        return lower;
    }
    return text;
}

bool is_local(const std::string& address) {
    return address.starts_with("unix:") || address.starts_with("127.") ||
           address.starts_with("localhost") || address.starts_with("[::1]");
}

}  // namespace

Client::Client(Target target, Note note, std::shared_ptr<grpc::Channel> channel)
    : target_(std::move(target)), note_(std::move(note)), channel_(std::move(channel)) {}

Result<Client> Client::open(const Target& target, Note note) {
    RM_TRY(auto channel, make_channel(target.address, target.security));
    return Client(target, std::move(note), std::move(channel));
}

Error Client::error_of(const grpc::Status& status) const {
    Error error = from_grpc(status);
    if (error.code == ErrorCode::unavailable) {
        // gRPC reports every failed handshake as a closed socket.
        if (auto mismatch = why_no_connection(target_.address, target_.security)) {
            return *std::move(mismatch);
        }
        error.message = format("cannot reach the controller at {} ({})", target_.address,
                               short_reason(error.message));
    } else if (error.code == ErrorCode::deadline_exceeded) {
        error.message = format("the controller at {} did not answer within {} s", target_.address,
                               kCallLimit.count());
    } else if (error.code == ErrorCode::unauthenticated ||
               error.code == ErrorCode::permission_denied) {
        error.message = format("{}: {}", to_string(error.code), error.message);
    }
    return error;
}

Status Client::send(const Send& once) const {
    for (std::size_t attempt = 0;; ++attempt) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
        const grpc::Status status = once(context);
        if (status.ok()) return {};
        const Error error = error_of(status);
        if (error.code != ErrorCode::unavailable) return error;
        if (attempt == std::size(kPauses)) {
            return make_error(error.code, "{} (3 tries){}", error.message,
                              is_local(target_.address)
                                  ? "; `ringmaster up` starts a local cluster"
                                  : "; is it running, and is the port right?");
        }
        note_(format("{}; retrying...", error.message));
        const auto until = std::chrono::steady_clock::now() +
                           std::chrono::duration<double>(kPauses[attempt].value);
        rm::connect_again(*channel_, kPauses[attempt]);
        std::this_thread::sleep_until(until);
    }
}

Status Client::receive(const std::stop_token& stop, const Send& once) const {
    grpc::ClientContext context;
    const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
    const grpc::Status status = once(context);
    if (status.ok()) return {};
    return error_of(status);
}

void Client::connect_again() const {
    rm::connect_again(*channel_, kStreamPause);
}

std::shared_ptr<grpc::ChannelInterface> Client::channel() const {
    return channel_;
}

}  // namespace rm
