#pragma once

#include <array>
#include <memory>

#include "engine/memory/step_arena.h"

namespace rm {

// The passes over one micro-batch: loss and gradients, the loss alone, the last hidden states.
enum class PassKind { train, loss, hidden };
constexpr std::array<PassKind, 3> kPassKinds = {PassKind::train, PassKind::loss, PassKind::hidden};

// The arenas of a rank, pass by pass.
class PassMemory {
public:
    virtual ~PassMemory() = default;
    virtual StepArena& device() = 0;
    virtual StepArena& host() = 0;
    virtual void begin(PassKind kind) = 0;
    virtual void end() = 0;
};

// The requests of each kind of pass, with their places.
struct ArenaPasses {
    std::array<PassRequests, kPassKinds.size()> by_kind;
    Bytes size;  // the most that a pass takes

    PassRequests& of(PassKind kind) { return by_kind[static_cast<std::size_t>(kind)]; }
    const PassRequests& of(PassKind kind) const { return by_kind[static_cast<std::size_t>(kind)]; }
};
struct StageArenas {
    ArenaPasses device;
    ArenaPasses host;
};

}  // namespace rm
