#include "engine/comm/transport/links.h"

namespace rm {

std::unique_ptr<Links> make_gloo_links(const std::string& /*address*/, Exchange& /*exchange*/,
                                       const TransportOptions& options) {
    throw TransportError(
        format("rank {} cannot reach ranks at other addresses: this build has no gloo; install "
               "libgloo-dev and configure with -DRM_GLOO=ON, or run all ranks on one machine",
               options.rank));
}

}  // namespace rm
