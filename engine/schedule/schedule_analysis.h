#pragma once

// Facts that follow from a schedule (kernels/meta/schedule.h) alone. Pure functions.
#include "engine/schedule/clock.h"
#include "engine/schedule/placement.h"
#include "engine/schedule/races.h"
#include "engine/schedule/reuse.h"
#include "engine/schedule/waits.h"
