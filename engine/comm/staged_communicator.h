#pragma once

#include "engine/comm/communicator.h"

namespace rm {

// Plays the collectives of collectives.h over a Transport; tensors that the host cannot see go
// through pinned pieces (Staging). Sums are formed on the host.
class StagedCommunicator final : public Communicator {
public:
    // All references outlive the communicator. `stream` is a host stream of `device`. Allocates the
    // scratch of sums, kScratch bytes of pinned memory, and what its staging needs.
    StagedCommunicator(Transport& transport, Device& device, Stream& stream, const Mesh& mesh,
                       CommProgress& progress);
    ~StagedCommunicator() override;

    static constexpr Bytes kScratch{std::int64_t{2} << 20};

private:
    void enqueue(Collective collective) override;
    Cutting cutting() const override { return {staging_, kScratch}; }
    Seconds waited() const override { return transport_.waited(); }

    // Plays a collective and shows it on the progress page.
    void show(const Collective& collective);
    void play(const Collective& collective);
    void play_shifts(const Collective& collective);
    TensorView scratch(DType dtype) const;

    Transport& transport_;
    Stream& stream_;
    CommProgress& progress_;
    PinnedBuffer scratch_;
    Staging staging_;
};

}  // namespace rm
