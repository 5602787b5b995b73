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

// Whether what a job names can be there, as far as this machine sees it: data, model, tokenizer and
// checkpoint exist, a model is a directory of Hugging Face whose state the devices can hold, and
// new directories have a place. Paths below roots (ROOT:PATH) are left to the workers that declare
// them, and where workers are elsewhere all paths are, but names of the Hugging Face Hub, which are
// paths nowhere. INVALID_ARGUMENT names the key. `directory`: from which the job file's relative
// paths were taken.
Status check_inputs(const JobSpec& spec, const Workers& workers, const std::string& directory);

// A job file ("-": stdin) as the message to submit, its text kept byte for byte. Relative paths in
// it are resolved against the working directory. `overrides` are those of `submit --set`, stronger
// than the file; comments below the kept text name them.
Result<pb::JobSpec> read_job_file(const std::string& path,
                                  const std::vector<std::string>& overrides = {});

}  // namespace rm
