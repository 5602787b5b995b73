#include "spec/mesh.h"

#include <algorithm>

namespace rm {
namespace {

constexpr std::int64_t kMaxRanks = 65536;
constexpr std::int64_t kAlignTokens = 16;
constexpr double kMaxWaste = 0.10;

// The divisors of `number` nearest to `wanted`, below and above, as a sentence fragment.
std::string nearest_divisors(std::int64_t number, std::int64_t wanted) {
    std::int64_t below = 0;
    std::int64_t above = 0;
    for (std::int64_t d = 1; d <= number; ++d) {
        if (number % d != 0) continue;
        if (d < wanted) below = d;
        if (d > wanted && above == 0) above = d;
    }
    if (below == 0) return format("{}", above);
    return above == 0 ? format("{}", below) : format("{} or {}", below, above);
}

}  // namespace

Result<Mesh> Mesh::make(int data, int ring, int ulysses, int tensor, int inner_ring) {
    Mesh mesh;
    mesh.sizes_ = {data, ring, ulysses, tensor};
    std::int64_t product = 1;
    for (const Axis axis : kAxes) {
        if (mesh.size(axis) < 1) {
            return invalid_argument("mesh.{}: {} must be 1 or more", to_string(axis),
                                    mesh.size(axis));
        }
        product *= mesh.size(axis);
        if (product > kMaxRanks) {
            return invalid_argument("mesh: {} x {} x {} x {} are more than {} ranks", data, ring,
                                    ulysses, tensor, kMaxRanks);
        }
    }
    if (inner_ring < 0) {
        return invalid_argument("mesh.inner_ring: {} must be 1 or more, or 0 for the whole ring",
                                inner_ring);
    }
    if (inner_ring > 0 && ring % inner_ring != 0) {
        return invalid_argument(
            "mesh.inner_ring: {} does not divide the ring of {}; the nearest that does: {}",
            inner_ring, ring, nearest_divisors(ring, inner_ring));
    }
    mesh.inner_ring_ = inner_ring == ring ? 0 : inner_ring;
    return mesh;
}

int Mesh::num_ranks() const {
    int product = 1;
    for (const int size : sizes_)
        product *= size;
    return product;
}

Mesh::Coords Mesh::coords(int rank) const {
    RM_CHECK(rank >= 0 && rank < num_ranks(), "rank {} is not in a mesh of {} ranks", rank,
             num_ranks());
    Coords coords{};
    for (int axis = 3; axis >= 0; --axis) {
        coords[axis] = rank % sizes_[axis];
        rank /= sizes_[axis];
    }
    return coords;
}

int Mesh::rank(const Coords& coords) const {
    int rank = 0;
    for (std::size_t axis = 0; axis < 4; ++axis) {
        RM_CHECK(coords[axis] >= 0 && coords[axis] < sizes_[axis], "coordinate {} on axis {} of {}",
                 coords[axis], to_string(kAxes[axis]), to_string(*this));
        rank = rank * sizes_[axis] + coords[axis];
    }
    return rank;
}

std::vector<int> Mesh::group(int rank, Axis axis) const {
    return group(rank, std::vector<Axis>{axis});
}

std::vector<int> Mesh::group(int rank, const std::vector<Axis>& axes) const {
    const Coords mine = coords(rank);
    std::vector<int> members;
    for (int other = 0; other < num_ranks(); ++other) {
        const Coords theirs = coords(other);
        const bool same = std::all_of(kAxes.begin(), kAxes.end(), [&](Axis axis) {
            const auto i = usize(axis);
            return mine[i] == theirs[i] || std::find(axes.begin(), axes.end(), axis) != axes.end();
        });
        if (same) members.push_back(other);
    }
    return members;
}

std::string to_string(const Mesh& mesh) {
    std::string text;
    for (const Axis axis : kAxes) {
        if (mesh.size(axis) == 1) continue;
        text += format("{}{} {}", text.empty() ? "" : " x ", to_string(axis), mesh.size(axis));
        if (axis == Axis::ring && mesh.outer_ring() > 1) {
            text += format(" ({} of {})", mesh.outer_ring(), mesh.inner_ring());
        }
    }
    return text.empty() ? "one rank" : text;
}

Status check_mesh(const Mesh& mesh, const ModelDims& model) {
    const std::int64_t head_split =
        static_cast<std::int64_t>(mesh.size(Axis::ulysses)) * mesh.size(Axis::tensor);
    if (model.num_query_heads % head_split != 0) {
        return invalid_argument(
            "mesh: ulysses x tensor is {}, which does not divide the model's {} query heads; the "
            "nearest that does: {}",
            head_split, model.num_query_heads, nearest_divisors(model.num_query_heads, head_split));
    }
    const int tensor = mesh.size(Axis::tensor);
    if (model.feed_forward % tensor != 0) {
        return invalid_argument(
            "mesh.tensor: {} does not divide the model's feed-forward size {}; the nearest that "
            "does: "
            "{}",
            tensor, model.feed_forward, nearest_divisors(model.feed_forward, tensor));
    }
    return {};
}

std::int64_t length_unit(const Mesh& mesh) {
    return 2 * kAlignTokens * mesh.size(Axis::ring) * mesh.size(Axis::ulysses) *
           mesh.size(Axis::tensor);
}

Result<std::int64_t> padded_length(std::int64_t context, const Mesh& mesh) {
    const std::int64_t multiple = length_unit(mesh);
    if (context < 1) return invalid_argument("context is {}; it must be positive", context);
    const std::int64_t padded = (context + multiple - 1) / multiple * multiple;
    const double waste = static_cast<double>(padded - context) / static_cast<double>(padded);
    if (waste <= kMaxWaste) return padded;
    const std::int64_t below = padded - multiple;
    const std::string nearest =
        below > 0 ? format("{} or {}", below, padded) : format("{}", padded);
    return invalid_argument(
        "context {} is too short for {}: it would be padded to {} (a multiple of {}), {:.0} % "
        "waste (at most 10 %); the nearest contexts without waste: {}",
        context, to_string(mesh), padded, multiple, waste * 100, nearest);
}

}  // namespace rm
