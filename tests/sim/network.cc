#include "tests/sim/network.h"

#include <algorithm>

namespace rm::sim {
namespace {

constexpr double kFastest = 0.0005;
constexpr double kUsual = 0.02;
constexpr double kSlow = 2.0;  // once in a while

}  // namespace

int Network::open(int node) {
    const int stream = static_cast<int>(streams_.size()) + 1;
    streams_[stream].node = node;
    return stream;
}

void Network::send(int stream, Way way, Packet packet) {
    Line& line = streams_.at(stream).lines[static_cast<int>(way)];
    const double delay = sim_.between(kFastest, sim_.chance(0.01) ? kSlow : kUsual);
    line.last = std::max(line.last, sim_.micros() + static_cast<std::int64_t>(delay * 1e6));
    line.packets.emplace_back(line.last, std::move(packet));
    sim_.after(static_cast<double>(line.last - sim_.micros()) * 1e-6,
               [this, stream, way] { pump(stream, way); });
}

void Network::heal(int node, Way way) {
    cuts_.erase({node, way});
    for (auto& [id, stream] : streams_) {
        if (stream.node == node) {
            sim_.after(sim_.between(0, 1), [this, stream = id, way] { pump(stream, way); });
        }
    }
}

void Network::pump(int id, Way way) {
    Stream& stream = streams_.at(id);
    Line& line = stream.lines[static_cast<int>(way)];
    while (!line.packets.empty() && line.packets.front().first <= sim_.micros() &&
           !is_cut(stream.node, way)) {
        const Packet packet = std::move(line.packets.front().second);
        line.packets.pop_front();
        deliver_(id, way, packet);
    }
}

}  // namespace rm::sim
