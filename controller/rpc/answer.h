#pragma once

#include <utility>

#include "base/result.h"
#include "service/grpc_util.h"

namespace rm {

// Converts an operation's result into the end of its unary call.
template <typename Reply>
grpc::Status answer(Result<Reply> result, Reply* reply) {
    if (!result) return to_grpc(result.error());
    *reply = *std::move(result);
    return grpc::Status::OK;
}

}  // namespace rm
