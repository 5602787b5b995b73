#pragma once

#include "worker/agent/attempts.h"

namespace rm {

// A rendezvous without a controller: ranks that ask it fail.
class NoRendezvous final : public Rendezvous {
    ExchangeAnswer exchange(Epoch, const std::string&, const BlobsByRank&,
                            std::stop_token) override {
        return make_error(ErrorCode::unimplemented, "there is no controller");
    }
    Status publish(Epoch, std::stop_token) override {
        return make_error(ErrorCode::unimplemented, "there is no controller");
    }
};

}  // namespace rm
