#include <algorithm>

#include "engine/comm/message.h"
#include "engine/comm/transport/link_transport.h"
#include "engine/comm/transport/local_address.h"

namespace rm {
namespace {

// A rank's way from an address to links with all its peers.
class RankMeeting {
public:
    RankMeeting(const std::string& address, Exchange& exchange, const TransportOptions& options)
        : address_(address), exchange_(exchange), options_(options) {}

    // Every rank takes part in every exchange, since an exchange waits for all.
    RankLinks run() {
        checked(check_local_address(address_));
        const Door door = checked(Door::open());
        const std::vector<Place> places = exchange_places(door.place(address_));
        const auto is_near = [&](const Place& place) {
            return on_one_node(place, places[usize(options_.rank)]);
        };
        RankLinks links;
        std::vector<int> far_peers;
        for (const int peer : options_.peers)
            (is_near(places[usize(peer)]) ? links.near_peers : far_peers).push_back(peer);
        links.near = meet_near(door, places, links.near_peers);
        const bool one_node = std::all_of(places.begin(), places.end(), is_near);
        if (!one_node) links.far = meet_far(far_peers, links.near.get());
        return links;
    }

private:
    std::vector<Place> exchange_places(const Place& own) {
        const auto table =
            checked(exchange_.exchange("address", encode_place(own), options_.timeout));
        std::vector<Place> places;
        for (std::size_t rank = 0; rank < table.size(); ++rank) {
            const bool is_own = rank == usize(options_.rank);
            places.push_back(is_own ? own : place_of(rank, table[rank]));
        }
        return places;
    }

    Place place_of(std::size_t rank, const std::string& blob) const {
        return checked(within(format("was told of rank {}", rank), decode_place(blob)));
    }

    std::unique_ptr<SharedMemoryLinks> meet_near(const Door& door, const std::vector<Place>& places,
                                                 std::vector<int> peers) {
        if (peers.empty()) return nullptr;
        std::sort(peers.begin(), peers.end());
        Box box = checked(Box::make(peers.size()));
        auto met = meet_on_node(door, box, places, peers, options_);
        if (!met) box.head().leave(met.error().message);  // for peers that have met this rank
        box.close_fd();
        return std::make_unique<SharedMemoryLinks>(options_.rank, std::move(box),
                                                   checked(std::move(met)));
    }

    std::unique_ptr<Links> meet_far(const std::vector<int>& peers, SharedMemoryLinks* near) {
        TransportOptions options = options_;
        options.peers = peers;
        try {
            auto links = make_gloo_links(address_, exchange_, options);
            return peers.empty() ? nullptr : std::move(links);
        } catch (const TransportError& error) {
            if (near != nullptr) near->end(error.what());
            throw;
        }
    }

    template <typename T>
    T checked(Result<T> result) const {
        if (!result)
            throw TransportError(format("rank {} {}", options_.rank, result.error().message));
        if constexpr (!std::is_void_v<T>) return *std::move(result);
    }

    const std::string& address_;
    Exchange& exchange_;
    const TransportOptions& options_;
};

}  // namespace

std::unique_ptr<Transport> make_gloo_transport(const std::string& address, Exchange& exchange,
                                               const TransportOptions& options) {
    check_options(options);
    return make_link_transport(address, options, RankMeeting(address, exchange, options).run());
}

}  // namespace rm
