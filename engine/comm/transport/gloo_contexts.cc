#include "engine/comm/transport/gloo_contexts.h"

#include <gloo/transport/tcp/device.h>
#include <netinet/in.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "engine/comm/transport/blocked_signals.h"
#include "engine/comm/transport/local_address.h"

namespace rm {
namespace {

using Milliseconds = std::chrono::milliseconds;

void set_port(sockaddr_storage& address, int port) {
    const in_port_t network = htons(static_cast<std::uint16_t>(port));
    if (address.ss_family == AF_INET6) {
        reinterpret_cast<sockaddr_in6&>(address).sin6_port = network;
    } else {
        reinterpret_cast<sockaddr_in&>(address).sin_port = network;
    }
}

// Sets the port on which gloo's pairs listen, which is that of their device's address. Device's
// constructor looks the address up among those of the interfaces, which have no ports, so the port
// is set afterwards. The library reads the address only when it makes a pair.
class PortDevice final : public gloo::transport::tcp::Device {
public:
    PortDevice(const gloo::transport::tcp::attr& attr, int port) : Device(attr) {
        set_port(const_cast<sockaddr_storage&>(attr_.ai_addr), port);
    }
};

}  // namespace

std::shared_ptr<GlooContexts::Context> GlooContexts::with_pair(int peer) {
    if (!options_.ports.is_any()) return in_range(peer);
    if (!shared_) shared_ = make(0);
    shared_->createPair(peer);
    return shared_;
}

std::shared_ptr<GlooContexts::Context> GlooContexts::make(int port) const {
    const gloo::transport::tcp::attr attr =
        gloo::transport::tcp::CreateDeviceAttr(address_.c_str());
    const BlockedSignals blocked = BlockedSignals::all();  // for the thread of the device
    const auto device = std::make_shared<PortDevice>(attr, port);
    std::shared_ptr<Context> context = device->createContext(options_.rank, options_.num_ranks);
    // A pair waits five times its timeout for its connection.
    const auto limit = Milliseconds(static_cast<std::int64_t>(options_.timeout.value * 1e3 / 5));
    context->setTimeout(std::max(limit, Milliseconds(1)));
    return context;
}

std::shared_ptr<GlooContexts::Context> GlooContexts::in_range(int peer) {
    while (next_port_ <= options_.ports.last) {
        const int port = next_port_++;
        if (!can_listen(address_, port)) continue;
        std::shared_ptr<Context> context = make(port);
        try {
            context->createPair(peer);
            return context;
        } catch (const std::exception&) {
            // Another rank took the port first.
        }
    }
    throw std::runtime_error(format(
        "no port of {} is left for the connection with rank {}; each rank needs one for every "
        "rank of another node that it talks to ({} at most): give the worker a larger range "
        "(--ports)",
        to_string(options_.ports), peer, options_.peers.size()));
}

}  // namespace rm
