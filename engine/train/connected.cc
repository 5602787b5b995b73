#include "engine/train/connected.h"

#include "engine/model/kv_stream.h"

namespace rm {
namespace {

// The rings that attention shifts around.
std::vector<GroupKey> rings_of(const Communicator& communicator) {
    const RingOrder order(communicator);
    if (order.num_blocks() == 1) return {};
    if (order.outer == 1) return {GroupKey::ring};
    return {GroupKey::ring_inner, GroupKey::ring_outer};
}

}  // namespace

ConnectedReport connected_report(const Transport& transport, const Communicator& communicator) {
    ConnectedReport report{
        .rank = transport.rank(), .address = transport.address(), .peers = {}, .rings = {}};
    for (const Connection& connection : transport.connections())
        report.peers[connection.peer] = {connection.own, connection.other};
    for (const GroupKey key : rings_of(communicator)) {
        const Group& ring = communicator.group(key);
        report.rings[std::string(to_string(key))] = {ring.next(), ring.previous()};
    }
    return report;
}

std::set<int> ring_sources(const Communicator& communicator) {
    std::set<int> sources;
    for (const GroupKey key : rings_of(communicator))
        sources.insert(communicator.group(key).previous());
    return sources;
}

}  // namespace rm
