#include <set>

#include "engine/comm/communicator.h"

namespace rm {

std::string_view to_string(GroupKey key) {
    switch (key) {
        case GroupKey::data:
            return "data";
        case GroupKey::ring:
            return "ring";
        case GroupKey::ulysses:
            return "ulysses";
        case GroupKey::tensor:
            return "tensor";
        case GroupKey::gradient:
            return "gradient";
        case GroupKey::world:
            return "world";
    }
    return "?";
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
        }
        peers.erase(rank);
        table.emplace_back(peers.begin(), peers.end());
    }
    return table;
}

}  // namespace rm
