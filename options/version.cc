#include "options/version.h"

namespace rm {

const char* version() {
    return RM_VERSION;
}

}  // namespace rm
