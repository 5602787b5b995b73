#include "worker/rank/exit_class.h"

#include <new>
#include <system_error>

#include "engine/comm/transport/transport.h"
#include "kernels/device.h"
#include "spec/session.h"

namespace rm {

constexpr int kOfFiles[] = {kRankBadFiles, kRankNoCheckpoint, kRankNoBeginning};  // by ErrorFact

int exit_code_of(const Error& error, Reached reached) {
    switch (error.code) {
        case ErrorCode::aborted:  // this rank is well and another is not
            return kRankLostPeer;
        case ErrorCode::resource_exhausted:  // memory: a full disk is unavailable
            return kRankOutOfMemory;
        case ErrorCode::invalid_argument:
        case ErrorCode::already_exists:  // something else where an export belongs
        case ErrorCode::unimplemented:
        case ErrorCode::out_of_range:  // a token that the model's vocabulary does not have
            return kRankBadInput;
        case ErrorCode::not_found:
        case ErrorCode::permission_denied:
        case ErrorCode::failed_precondition:
        case ErrorCode::data_loss:
            return reached == Reached::setup ? kOfFiles[static_cast<int>(error.fact)] : kRankFailed;
        case ErrorCode::cancelled:
        case ErrorCode::unknown:
        case ErrorCode::deadline_exceeded:
        case ErrorCode::internal:
        case ErrorCode::unavailable:
        case ErrorCode::unauthenticated:
            break;
    }
    return kRankFailed;
}

std::string words_of(const std::exception& thrown) {
    const std::string words = thrown.what();
    if (words != std::bad_alloc().what()) return words;
    return "out of memory: the system has refused an allocation";
}

int exit_code_of(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const StreamError& error) {
        return error.cause() ? exit_code_of(error.cause()) : kRankFailed;
    } catch (const TransportError&) {
        return kRankLostPeer;
    } catch (const std::bad_alloc&) {
        return kRankOutOfMemory;
    } catch (const DeviceFault&) {
        return kRankDeviceFault;
    } catch (const std::system_error& error) {
        const bool no_thread = error.code() == std::errc::resource_unavailable_try_again;
        return no_thread ? kRankNodeFault : kRankFailed;
    } catch (...) {
        return kRankFailed;
    }
}

}  // namespace rm
