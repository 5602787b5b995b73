#include <unistd.h>

#include "worker/inventory/inventory.h"

namespace rm {

std::string machine_hostname() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace rm
