#include "engine/comm/transport/transport.h"

namespace rm {

std::unique_ptr<Transport> make_gloo_transport(const std::string& /*address*/,
                                               Exchange& /*exchange*/,
                                               const TransportOptions& /*options*/) {
    throw TransportError(
        "this build has no gloo transport: install libgloo-dev and configure with -DRM_GLOO=ON, or "
        "run the ranks as threads of one process (transport local)");
}

}  // namespace rm
