#pragma once

#include "controller/core/step.h"

// What becomes of a job whose newest attempt has ended: it ends too, or goes back to the queue.
namespace rm {

// The attempt is the newest of its job. Succeeded and cancelled end the job; drained gives it back
// to the queue at once; what may not hold again is tried again after a backoff, at most
// spec.retry.max times in a row without a new checkpoint; the rest fails the job. Devices at fault
// are excluded from further attempts, and so is a node that could not start its ranks or alone
// found files of the job bad, where the job could run without it.
void conclude_job(Step& step, Epoch ended);

// Every rank wrote its part of a checkpoint and left because its worker was told to stop: no
// failure of the job.
bool was_stopped_by_its_workers(const Attempt& attempt);

// A node could not start its ranks of an attempt. Its job goes elsewhere, where it can; a node that
// fails two jobs in a row is taken out of service.
void note_launch_failure(Step& step, const NodeId& node, const Attempt& attempt,
                         const std::string& why);

// Before the retry with this number, from 1: 1 s, 2 s, 4 s, ... at most 60 s.
constexpr Seconds kLongestBackoff{60};
// Its next attempt may not come yet. A time that is further away than any backoff is of a clock
// that has been put back since.
bool backs_off(const Job& job, WallTime steady);

Seconds retry_backoff(int retry);

}  // namespace rm
