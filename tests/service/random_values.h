#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "spec/report_members.h"
#include "spec/session.h"
#include "spec/session_members.h"

// Random values of base types. The structured bindings, here and where a type is described, are
// deliberate: a member added to a type does not compile until it is filled, and then fails the
// round trip until it is converted.
namespace rm {

template <typename... Parts>
void fill_all(Rng& rng, Parts&... parts);
template <typename T>
void fill(Rng& rng, std::vector<T>& items);

inline void fill(Rng& rng, std::string& text) {
    text = format("t{}", rng.below(1'000'000));
}
inline void fill(Rng& rng, double& number) {
    number = rng.normal();
}
inline void fill(Rng& rng, bool& flag) {
    flag = rng.below(2) == 1;
}
template <typename T>
requires std::is_integral_v<T>
inline void fill(Rng& rng, T& number) {
    number = static_cast<T>(rng.below(1'000'000'000) + 1);
}
template <typename Tag>
inline void fill(Rng& rng, Id<Tag>& id) {
    fill(rng, id.value);
}
inline void fill(Rng& rng, Epoch& epoch) {
    fill(rng, epoch.value);
}
inline void fill(Rng& rng, Bytes& bytes) {
    fill(rng, bytes.value);
}
inline void fill(Rng& rng, Seconds& seconds) {
    fill(rng, seconds.value);
}
template <typename Word>
requires std::is_enum_v<Word>
inline void fill(Rng& rng, Word& word) {  // most have two
    word = static_cast<Word>(rng.below(2));
}
inline void fill(Rng& rng, Schedule& schedule) {
    schedule = static_cast<Schedule>(rng.below(3));
}
inline void fill(Rng& rng, Switch& state) {
    state = static_cast<Switch>(rng.below(3));
}
// Sometimes nullopt, which is a value of its own.
template <typename T>
inline void fill(Rng& rng, std::optional<T>& maybe) {
    if (rng.below(3) > 0) fill(rng, maybe.emplace());
}
inline void fill(Rng& rng, Mesh& mesh) {
    const auto size = [&rng] { return static_cast<int>(rng.below(8)) + 1; };
    const int inner = size();
    mesh = Mesh::make(size(), size() * inner, size(), size(), inner).value();
}
// Fills the members of a type as its description visits them.
struct Filler {
    Rng& rng;
    template <typename T>
    void operator()(const Member&, T& value) {
        fill(rng, value);
    }
    void interval(const Member&, std::int64_t& steps, Seconds& time) {
        fill(rng, steps);
        fill(rng, time);
    }
    void mesh(const Member&, std::optional<Mesh>& mesh, int& zero) {
        fill(rng, mesh);
        fill(rng, zero);
    }
};
template <Described T>
inline void fill(Rng& rng, T& value) {
    Filler filler{rng};
    describe(filler, value);
}
inline void fill(Rng& rng, DataSource& source) {
    auto& [path, proportion] = source;
    fill_all(rng, path, proportion);
}
inline void fill(Rng& rng, DeviceId& device) {
    auto& [node, index] = device;
    fill_all(rng, node, index);
}
inline void fill(Rng& rng, MemoryReport& memory) {
    memory.by_kind = {{"weights", {}}, {"activations", {}}};
    memory.total = Bytes{};
    for (auto& [kind, bytes] : memory.by_kind) {
        fill(rng, bytes);
        memory.total += bytes;
    }
}
inline void fill(Rng& rng, std::map<std::string, double>& map) {
    for (const char* key : {"forward", "backward", "reduce"})
        fill(rng, map[key]);
}
template <typename T>
void fill(Rng& rng, std::map<std::string, T>& map) {
    for (const char* key : {"ring", "tensor"})
        fill(rng, map[key]);
}
template <typename T>
void fill(Rng& rng, std::map<int, T>& map) {
    for (const int key : {0, 3})
        fill(rng, map[key]);
}
inline void fill(Rng& rng, std::optional<Mesh>& mesh) {
    fill(rng, mesh.emplace());
}
inline void fill(Rng& rng, Plan& plan) {
    auto& [mesh, zero, placement, memory, network, timeout, predicted, rates] = plan;
    placement.clear();  // does not travel
    fill_all(rng, mesh, zero, memory, network, timeout);
}
inline void fill(Rng& rng, FileUse& use) {
    use = static_cast<FileUse>(rng.below(6));
}
inline void fill(Rng& rng, ProbeStep& step) {
    step = static_cast<ProbeStep>(rng.below(3));
}
inline void fill(Rng& rng, ProbeKind& kind) {
    kind = static_cast<ProbeKind>(rng.below(2));
}
inline void fill(Rng& rng, GbitPerSec& rate) {
    fill(rng, rate.value);
}
template <typename T>
inline void fill(Rng& rng, std::vector<T>& items) {
    items.resize(rng.below(3) + 1);
    for (T& item : items)
        fill(rng, item);
}
template <typename... Parts>
void fill_all(Rng& rng, Parts&... parts) {
    (fill(rng, parts), ...);
}

}  // namespace rm
