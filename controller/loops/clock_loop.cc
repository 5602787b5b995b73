#include "controller/loops/clock_loop.h"

#include <utility>

#include "controller/core/due.h"

namespace rm {

ClockLoop::ClockLoop(ControlLoop& control, Seconds interval)
    : control_(control),
      loop_(
          [this, interval](auto&) {
              tick();
              return interval;
          },
          interval) {}

void ClockLoop::tick() {
    const WallTime now = control_.steady_now();
    const auto [overdue, due] = control_.read([&](const State& state) {
        const bool due = !due_commands(state, now).empty() || !due_times(state, now).empty();
        return std::pair(overdue_nodes(state, now), due);
    });
    for (const NodeId& node : overdue)
        control_.post(NodeUnreachable{node});
    if (due) control_.post(CommandsDue{});
}

}  // namespace rm
