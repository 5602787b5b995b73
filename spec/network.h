#pragma once

#include <optional>

#include "base/words.h"

namespace rm {

// How the ranks of an attempt reach each other. gloo: over TCP, from any device, through host
// memory. nccl: from GPU to GPU.
enum class NetworkKind { gloo, nccl };
constexpr auto vocabulary_of(NetworkKind) {
    return vocabulary<NetworkKind>("network",
                                   {{NetworkKind::gloo, "gloo"}, {NetworkKind::nccl, "nccl"}});
}
// nullopt stands for `auto`.
constexpr auto vocabulary_of(const std::optional<NetworkKind>&) {
    return vocabulary<std::optional<NetworkKind>>(
        "network",
        {{std::nullopt, "auto"}, {NetworkKind::gloo, "gloo"}, {NetworkKind::nccl, "nccl"}});
}

// Whether NCCL must use one algorithm and one protocol, so that its sums do not depend on its
// choice between them. docs/communication.md states what each network promises.
enum class Reproducible { off, on };
constexpr auto vocabulary_of(Reproducible) {
    return vocabulary<Reproducible>("reproducible",
                                    {{Reproducible::off, "off"}, {Reproducible::on, "on"}});
}

}  // namespace rm
