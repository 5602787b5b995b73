#include "worker/dir/tie_to_shim.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "worker/dir/files.h"

namespace rm {

// The shim started this process from its only thread, which PR_SET_PDEATHSIG follows. The shim may
// have ended before the call: then the parent has already changed.
Status tie_to_shim(const AttemptDir& dir) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    RM_TRY(const std::string text, read_text_file(dir.shim()));
    RM_TRY(const ShimFile shim, parse_shim_file(text));
    if (::getppid() == shim.shim.pid) return {};
    return make_error(ErrorCode::failed_precondition, "its shim, process {}, is gone",
                      shim.shim.pid);
}

}  // namespace rm
