#pragma once

#include "engine/streams/flop_counter.h"
#include "engine/streams/stream_order.h"
#include "kernels/kernels.h"

namespace rm {

inline TensorView at(const TensorView& tensor, const TokenRange& range) {
    return tensor.rows(range.first, range.count);
}

// Kernels with the workspace and stream they run on, so that a schedule reads as a list of calls.
// Borrows all three.
class Ops {
public:
    Ops(Kernels& kernels, Workspace workspace, Stream& stream, PendingWaits* waits = nullptr)
        : kernels_(kernels), workspace_(workspace), stream_(stream), waits_(waits) {}

    template <typename Op>
    void operator()(const Op& op) const {
        flops_.add(op);
        if (waits_ != nullptr && waits_->has_pending()) waits_->flush();
        kernels_.run(op, workspace_, stream_);
    }

    Kernels& kernels() const { return kernels_; }
    // FLOPs queued since the last call.
    double take_flops() const { return flops_.take(); }
    Stream& stream() const { return stream_; }

private:
    Kernels& kernels_;
    Workspace workspace_;
    Stream& stream_;
    PendingWaits* waits_;
    mutable FlopCounter flops_;
};

}  // namespace rm
