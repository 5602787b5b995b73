#pragma once

#include <memory>
#include <string>

#include "service/http/metrics.h"
#include "service/security/gatekeeper.h"

namespace rm {

// The calls of the controller as metrics, over gRPC and over HTTP. A call of a method that does not
// exist counts as `other`, so the methods are bounded. Thread safe.
class RpcMetrics final : public CallWatch {
public:
    RpcMetrics();

    void ended(std::string_view method, std::string_view code, Seconds duration) override;
    std::string expose() const { return rm::expose(registry_); }

private:
    prometheus::Registry registry_;
    prometheus::Family<prometheus::Counter>& handled_;
    prometheus::Family<prometheus::Histogram>& duration_;
};

}  // namespace rm
