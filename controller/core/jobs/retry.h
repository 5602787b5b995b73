#pragma once

#include "controller/core/step.h"

// Decides whether a job whose newest attempt has ended also ends or goes back to the queue.
namespace rm {

// `ended` is the newest attempt of its job. Success and cancel end the job; a drain returns it to
// the queue at once; a failure that may not recur is retried after a backoff, at most
// spec.retry.max times in a row without a new checkpoint; any other failure ends the job. Devices
// at fault are excluded from further attempts, and so is a node that could not start its ranks or
// alone found files of the job bad, if the job can run without it.
void conclude_job(Step& step, Epoch ended);

// Whether every rank wrote its part of a checkpoint and exited because its worker was told to stop,
// which is no failure of the job. The ends of some may be unknown, as their machine is away.
bool was_stopped_by_its_workers(const Attempt& attempt);

// A node could not start its ranks of an attempt. Its job goes elsewhere, where it can; a node that
// fails two jobs in a row is taken out of service.
void note_launch_failure(Step& step, const NodeId& node, const Attempt& attempt,
                         const std::string& why);

// Before the retry with this number, from 1: 1 s, 2 s, 4 s, ... at most 60 s.
constexpr Seconds kLongestBackoff{60};
// Whether its next attempt must still wait. A time further away than any backoff comes from a clock
// that was set back since.
bool backs_off(const Job& job, WallTime steady);

Seconds retry_backoff(int retry);

}  // namespace rm
