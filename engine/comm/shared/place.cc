#include "engine/comm/shared/place.h"

#include <sstream>

namespace rm {

std::string encode_place(const Place& place) {
    return format("{} {} {} {}", place.address, place.user, place.door, place.secret);
}

Result<Place> decode_place(std::string_view blob) {
    std::istringstream words{std::string(blob)};
    Place place;
    std::string more;
    words >> place.address >> place.user >> place.door >> place.secret;
    if (words && !(words >> more)) return place;
    return invalid_argument("'{}' is not an address, a user, a door and its secret", blob);
}

bool on_one_node(const Place& a, const Place& b) {
    return a.address == b.address && a.user == b.user;
}

}  // namespace rm
