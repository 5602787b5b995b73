#include "cli/exit_code.h"

namespace rm {

ExitCode exit_code_of(const Error& error) {
    switch (error.code) {
        case ErrorCode::cancelled:
            return ExitCode::interrupted;
        case ErrorCode::deadline_exceeded:
            return ExitCode::timed_out;
        case ErrorCode::not_found:
            return ExitCode::not_found;
        case ErrorCode::permission_denied:
        case ErrorCode::unauthenticated:
            return ExitCode::denied;
        case ErrorCode::invalid_argument:
        case ErrorCode::already_exists:
        case ErrorCode::resource_exhausted:
        case ErrorCode::failed_precondition:
        case ErrorCode::out_of_range:
        case ErrorCode::unimplemented:
            return ExitCode::rejected;
        case ErrorCode::unknown:
        case ErrorCode::aborted:
        case ErrorCode::internal:
        case ErrorCode::unavailable:
        case ErrorCode::data_loss:
            return ExitCode::error;
    }
    return ExitCode::error;
}

}  // namespace rm
