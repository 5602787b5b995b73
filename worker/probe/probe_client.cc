#include "worker/probe/probe_client.h"

// Not <netinet/tcp.h>: its tcp_info ends before what is read here.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/clock.h"
#include "base/median.h"
#include "worker/probe/wire.h"

namespace rm {
namespace {

constexpr Seconds kPatience{2};
constexpr int kPings = 20;
constexpr int kWarmPings = 3;
constexpr std::size_t kBuffer = 256 * 1024;
// Limit of unsent bytes in a socket: low, so that a shaped link is not left with seconds of data to
// drain.
constexpr int kUnsent = 128 * 1024;

Error lost(const RunProbe& probe, const char* doing) {
    return make_error(ErrorCode::unavailable, "{} ({}:{}) closed the connection {}", probe.peer,
                      probe.address, probe.port, doing);
}

Result<UniqueFd> connect(const RunProbe& probe, ProbeRole role) {
    RM_TRY(UniqueFd socket, dial(probe.address, probe.port, kPatience));
    ProbeGreeting greeting{.role = role};
    if (probe.nonce.size() != kNonceBytes) return invalid_argument("the nonce is damaged");
    std::copy(probe.nonce.begin(), probe.nonce.end(), greeting.nonce.begin());
    if (!send_plain(socket, greeting)) return lost(probe, "during the greeting");
    return socket;
}

Status measure_latency(const UniqueFd& control, const RunProbe& probe, ProbeReport& report) {
    const SystemClock clock;
    std::vector<double> trips;
    for (int i = 0; i < kWarmPings + kPings; ++i) {
        ProbeMessage message;
        const MonoTime start = clock.mono();
        if (!send_plain(control, message) || !receive_plain(control, message)) {
            return lost(probe, "during the latency test (it may be too old to support probing)");
        }
        if (i >= kWarmPings) trips.push_back((clock.mono() - start).value);
    }
    const double middle = median(trips);
    for (double& trip : trips)
        trip = std::abs(trip - middle);
    report.latency = {middle / 2};
    report.jitter = {median(trips) / 2};
    return {};
}

void send_until_hung_up(const UniqueFd& socket) {
    const std::vector<char> nothing(kBuffer);
    while (send_all(socket, nothing.data(), nothing.size())) {
    }
}

struct Segments {
    double sent = 0;
    double again = 0;
};
Segments segments_of(const UniqueFd& socket) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
    return {static_cast<double>(info.tcpi_segs_out), static_cast<double>(info.tcpi_total_retrans)};
}

double loss_of(const std::vector<UniqueFd>& sockets) {
    Segments all;
    for (const UniqueFd& socket : sockets) {
        const Segments one = segments_of(socket);
        all.sent += one.sent;
        all.again += one.again;
    }
    return all.sent > 0 ? all.again / all.sent : 0;
}

Result<std::vector<UniqueFd>> open_streams(const RunProbe& probe, int count) {
    std::vector<UniqueFd> sockets;
    for (int i = 0; i < count; ++i) {
        RM_TRY(UniqueFd socket, connect(probe, ProbeRole::data));
        ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsent, sizeof kUnsent);
        sockets.push_back(std::move(socket));
    }
    return sockets;
}

Result<BandwidthSample> measure_bandwidth(const UniqueFd& control, const RunProbe& probe,
                                          int streams) {
    ProbeMessage message{.op = ProbeOp::sample,
                         .streams = static_cast<std::uint32_t>(streams),
                         .micros = static_cast<std::uint64_t>(probe.each.value * 1e6)};
    RM_TRY(const std::vector<UniqueFd> sockets, open_streams(probe, streams));
    if (!send_plain(control, message) || !receive_plain(control, message)) {
        return lost(probe, "while a sample was prepared");
    }
    std::vector<std::thread> senders;
    for (const UniqueFd& socket : sockets)
        senders.emplace_back([&socket] { send_until_hung_up(socket); });
    set_patience(control, probe.each + kPatience);
    const bool counted = receive_plain(control, message) && message.op == ProbeOp::counted;
    for (const UniqueFd& socket : sockets)
        ::shutdown(socket.get(), SHUT_RDWR);
    for (std::thread& sender : senders)
        sender.join();
    if (!counted || message.micros == 0) return lost(probe, "while bandwidth was measured");
    const double seconds = static_cast<double>(message.micros) * 1e-6;
    return BandwidthSample{.streams = streams,
                           .rate = {static_cast<double>(message.bytes) * 8e-9 / seconds},
                           .bytes = {static_cast<std::int64_t>(message.total)},
                           .seconds = {seconds},
                           .loss = loss_of(sockets)};
}

Status measure(const RunProbe& probe, ProbeReport& report) {
    if (probe.each > kLongestSample) return invalid_argument("{} is too long", probe.each);
    RM_TRY(const UniqueFd control, connect(probe, ProbeRole::control));
    RM_RETURN_IF_ERROR(measure_latency(control, probe, report));
    for (const int streams : probe.streams) {
        if (streams < 1 || streams > kMaxProbeStreams) {
            return invalid_argument("{} streams; 1 to {}", streams, kMaxProbeStreams);
        }
        RM_TRY(BandwidthSample sample, measure_bandwidth(control, probe, streams));
        report.samples.push_back(sample);
    }
    return {};
}

}  // namespace

ProbeReport probe_link(const RunProbe& probe) {
    ProbeReport report{.id = probe.id};
    if (const Status measured = measure(probe, report); !measured) {
        report.error = measured.error().message;
    }
    return report;
}

}  // namespace rm
