#include <set>

#include "engine/comm/communicator.h"

namespace rm {
namespace {

// The consecutive slots of the rank's ring that form its inner ring.
std::vector<int> inner_ring(const Mesh& mesh, int rank) {
    const std::vector<int> ring = mesh.group(rank, Axis::ring);
    const int size = mesh.inner_ring();
    const auto first = ring.begin() + mesh.coord(rank, Axis::ring) / size * size;
    return {first, first + size};
}

// The slots that have the same place in their inner rings as the rank has in its own.
std::vector<int> outer_ring(const Mesh& mesh, int rank) {
    const std::vector<int> ring = mesh.group(rank, Axis::ring);
    const int size = mesh.inner_ring();
    std::vector<int> members;
    for (int slot = mesh.coord(rank, Axis::ring) % size; slot < std::ssize(ring); slot += size)
        members.push_back(ring[usize(slot)]);
    return members;
}

bool all_talk_to_all(GroupKey key) {
    return key == GroupKey::ulysses || key == GroupKey::tensor;
}

}  // namespace

std::string_view to_string(GroupKey key) {
    constexpr std::array<std::string_view, kGroupKeys.size()> kNames = {
        "data", "ring", "ulysses", "tensor", "gradient", "world", "ring_inner", "ring_outer"};
    return kNames[usize(key)];
}

std::string_view axis_name(GroupKey key) {
    const bool half = key == GroupKey::ring_inner || key == GroupKey::ring_outer;
    return to_string(half ? GroupKey::ring : key);
}

GroupKey group_key(Axis axis) {
    return static_cast<GroupKey>(static_cast<int>(axis));
}

Group make_group(const Mesh& mesh, int rank, GroupKey key) {
    switch (key) {
        case GroupKey::data:
        case GroupKey::ring:
        case GroupKey::ulysses:
        case GroupKey::tensor:
            return make_group(mesh.group(rank, static_cast<Axis>(static_cast<int>(key))), rank);
        case GroupKey::gradient:
            return make_group(mesh.group(rank, {Axis::data, Axis::ring, Axis::ulysses}), rank);
        case GroupKey::ring_inner:
            return make_group(inner_ring(mesh, rank), rank);
        case GroupKey::ring_outer:
            return make_group(outer_ring(mesh, rank), rank);
        case GroupKey::world:
            break;
    }
    return make_group(mesh.group(rank, {kAxes.begin(), kAxes.end()}), rank);
}

PeerTable peers_of(const Mesh& mesh) {
    PeerTable table;
    for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
        std::set<int> peers;
        for (const GroupKey key : kGroupKeys) {
            const Group group = make_group(mesh, rank, key);
            peers.insert(group.next());
            peers.insert(group.previous());
            if (all_talk_to_all(key)) peers.insert(group.ranks.begin(), group.ranks.end());
        }
        peers.erase(rank);
        table.emplace_back(peers.begin(), peers.end());
    }
    return table;
}

}  // namespace rm
