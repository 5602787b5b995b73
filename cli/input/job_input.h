#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "planner/memory.h"
#include "ringmaster/v1/spec.pb.h"
#include "service/convert/convert.h"
#include "spec/job_spec.h"

namespace rm {

// Whether the workers of a job see this machine's files.
enum class WorkersAre { here, elsewhere };

// The location of a job's workers, and the devices they offer it.
struct Workers {
    WorkersAre are = WorkersAre::elsewhere;
    UsableDevices devices{};  // none: not known
};

// Checks a job's paths as far as this machine sees them: data, model, tokenizer and checkpoint
// exist, a model is a Hugging Face directory whose state the devices can hold, and new directories
// have an existing parent. Leaves paths below roots (ROOT:PATH) to the workers that declare them,
// and all paths to workers on other machines, except names of the Hugging Face Hub, which are paths
// nowhere. INVALID_ARGUMENT names the key. The job file's relative paths were resolved against
// `directory`.
Status check_inputs(const JobSpec& spec, const Workers& workers, const std::string& directory);

// A job file ("-": stdin) as the message to submit, its text kept byte for byte. Relative paths in
// it are resolved against the working directory. `overrides` are those of `submit --set`, stronger
// than the file; comments below the kept text name them.
Result<pb::JobSpec> read_job_file(const std::string& path,
                                  const std::vector<std::string>& overrides = {});

}  // namespace rm
