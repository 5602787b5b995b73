#pragma once

#include "engine/comm/collectives.h"
#include "kernels/device.h"

// Predicts one rank's traffic in a collective: the bytes of docs/communication.md, and the number
// of consecutive messages that collectives.h cuts them into. The caller fills in `group`. A group
// of one sends nothing. Empty messages are not sent.
namespace rm {

Traffic ring_shift_traffic(const Staging& staging, const TensorView& out);
Traffic reduce_scatter_traffic(const Group& group, const Staging& staging, const TensorView& x,
                               std::int64_t scratch_elements);
Traffic all_gather_traffic(const Group& group, const Staging& staging, const TensorView& whole);
Traffic all_reduce_traffic(const Group& group, const Staging& staging, const TensorView& x,
                           std::int64_t scratch_elements);
// Blocks that go to different ranks at once count as one message.
Traffic all_to_all_traffic(const Group& group, const Staging& staging, const TensorView& out);
Traffic broadcast_traffic(const Group& group, const TensorView& x, int root_index);
Traffic barrier_traffic(const Group& group);

}  // namespace rm
