#pragma once

#include "controller/core/step.h"

// What becomes of a job whose newest attempt has ended: it ends too, or goes back to the queue.
namespace rm {

// The attempt is the newest of its job. Succeeded and cancelled end the job; drained gives it back
// to the queue at once; what may not hold again is tried again after a backoff, at most
// spec.retry.max times; the rest fails the job. Devices at fault are excluded from further
// attempts.
void conclude_job(Step& step, Epoch ended);

// bad_input and out_of_memory would end the same way again.
bool is_retryable(FailureClass failure);

// Before the retry with this number, from 1: 1 s, 2 s, 4 s, ... at most 60 s.
Seconds retry_backoff(int retry);

}  // namespace rm
