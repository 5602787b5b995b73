#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/words.h"

namespace rm {

enum class Axis { data = 0, ring = 1, ulysses = 2, tensor = 3 };
constexpr std::array<Axis, 4> kAxes = {Axis::data, Axis::ring, Axis::ulysses, Axis::tensor};
constexpr auto vocabulary_of(Axis) {
    return vocabulary<Axis>("axis", {{Axis::data, "data"},
                                     {Axis::ring, "ring"},
                                     {Axis::ulysses, "ulysses"},
                                     {Axis::tensor, "tensor"}});
}

// The grid of ranks. `tensor` varies fastest with the rank number, then `ulysses`, `ring`, `data`.
// Group order is mesh order: it is the order of every ring and of every sum.
class Mesh {
public:
    using Coords = std::array<int, 4>;  // indexed by Axis

    Mesh() = default;
    // Every size is at least 1, their product at most 65,536. `inner_ring` divides `ring`; 0 means
    // the whole ring. A smaller value makes a double ring: consecutive ring slots form inner rings,
    // and slots at the same place in each inner ring form the outer rings.
    static Result<Mesh> make(int data, int ring, int ulysses, int tensor, int inner_ring = 0);

    int inner_ring() const { return inner_ring_ == 0 ? size(Axis::ring) : inner_ring_; }
    int outer_ring() const { return size(Axis::ring) / inner_ring(); }
    int size(Axis axis) const { return sizes_[usize(axis)]; }
    int num_ranks() const;
    Coords coords(int rank) const;
    int coord(int rank, Axis axis) const { return coords(rank)[usize(axis)]; }
    int rank(const Coords& coords) const;

    // The ranks that differ from `rank` along `axis` only, in axis order; includes `rank`.
    std::vector<int> group(int rank, Axis axis) const;
    // The same over several axes, in rank order: the ZeRO group is {data, ring, ulysses}.
    std::vector<int> group(int rank, const std::vector<Axis>& axes) const;

    bool operator==(const Mesh&) const = default;

private:
    std::array<int, 4> sizes_ = {1, 1, 1, 1};
    int inner_ring_ = 0;  // 0: as large as the ring
};

std::string to_string(const Mesh& mesh);  // data 2 x ring 4; data 2 x ring 8 (2 of 4)

// Model sizes that a mesh must divide; see check_mesh.
struct ModelDims {
    std::int64_t num_query_heads = 0;  // Hq
    std::int64_t num_kv_heads = 0;     // Hk
    std::int64_t feed_forward = 0;     // F
};

// ulysses x tensor divides Hq, tensor divides F. The error names the nearest sizes that do.
Status check_mesh(const Mesh& mesh, const ModelDims& model);

// Sequences are padded to multiples of it: 2 x ring x ulysses x tensor x 16 tokens.
std::int64_t length_unit(const Mesh& mesh);
// Tokens to which a sequence of `context` tokens is padded on `mesh`. Above 10 % waste, returns an
// error that names the nearest contexts that fit.
Result<std::int64_t> padded_length(std::int64_t context, const Mesh& mesh);

// Renames the key in an error of Mesh::make() or check_mesh() if the mesh is under another key:
// `mesh.ring: 0 must be ...` becomes `parallel.ring: 0 must be ...`.
inline Error under_key(const Error& error, std::string_view key) {
    constexpr std::string_view kOwn = "mesh";
    const std::string_view message = error.message;
    if (!message.starts_with(kOwn)) return error;
    return make_error(error.code, "{}{}", key, message.substr(kOwn.size()));
}

}  // namespace rm
