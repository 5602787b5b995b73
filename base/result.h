#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/format.h"
#include "base/usize.h"

// Expected failures. The codes are those of gRPC, so that a status crosses the wire unchanged.
namespace rm {

enum class ErrorCode {
    cancelled = 1,
    unknown = 2,
    invalid_argument = 3,
    deadline_exceeded = 4,
    not_found = 5,
    already_exists = 6,
    permission_denied = 7,
    resource_exhausted = 8,
    failed_precondition = 9,
    aborted = 10,
    out_of_range = 11,
    unimplemented = 12,
    internal = 13,
    unavailable = 14,
    data_loss = 15,
    unauthenticated = 16,
};

std::string_view to_string(ErrorCode code);

// Facts about an error that rules need beyond its code: no rule reads messages.
enum class ErrorFact {
    none,
    no_whole_checkpoint,  // all checkpoints of the job's own directory are damaged
    no_whole_beginning    // all in the directory that checkpoint.from names are damaged
};

struct Error {
    ErrorCode code = ErrorCode::unknown;
    std::string message;  // names the thing, the value, and what would have been right
    ErrorFact fact = ErrorFact::none;
};

template <typename... Args>
Error make_error(ErrorCode code, std::string_view pattern, const Args&... args) {
    return Error{code, format(pattern, args...)};
}
template <typename... Args>
Error invalid_argument(std::string_view pattern, const Args&... args) {
    return Error{ErrorCode::invalid_argument, format(pattern, args...)};
}
// Bytes that are not what they should be: a damaged file, or one of another format.
template <typename... Args>
Error data_loss(std::string_view pattern, const Args&... args) {
    return Error{ErrorCode::data_loss, format(pattern, args...)};
}

// The same error, its message after "where: ".
inline Error within(std::string_view where, const Error& error) {
    return {error.code, format("{}: {}", where, error.message), error.fact};
}

// A value or an Error. `if (!result) return result.error();`
template <typename T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
    Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

    bool ok() const { return std::holds_alternative<T>(state_); }
    explicit operator bool() const { return ok(); }

    T& value() & { return checked(); }
    const T& value() const& { return const_cast<Result*>(this)->checked(); }
    T&& value() && { return std::move(checked()); }
    T& operator*() & { return checked(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(checked()); }
    T* operator->() { return &checked(); }
    const T* operator->() const { return &value(); }

    const Error& error() const { return std::get<Error>(state_); }

private:
    T& checked() {
        RM_CHECK(ok(), "value() of a failed Result: {}", std::get<Error>(state_).message);
        return std::get<T>(state_);
    }
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

    bool ok() const { return !error_; }
    explicit operator bool() const { return ok(); }
    const Error& error() const { return *error_; }

private:
    std::optional<Error> error_;
};

using Status = Result<void>;

// `result`, or its error with the message after "where: ".
template <typename T>
Result<T> within(std::string_view where, Result<T> result) {
    if (result) return result;
    const Error& error = result.error();
    return Error{error.code, format("{}: {}", where, error.message), error.fact};
}

}  // namespace rm

#define RM_CONCAT_INNER(a, b) a##b
#define RM_CONCAT(a, b) RM_CONCAT_INNER(a, b)

// RM_TRY(auto x, f()): x is the value of f(), or the enclosing function returns its error.
#define RM_TRY(declaration, expression)                                                          \
    auto RM_CONCAT(rm_try_, __LINE__) = (expression);                                            \
    if (!RM_CONCAT(rm_try_, __LINE__)) return ::rm::Error(RM_CONCAT(rm_try_, __LINE__).error()); \
    declaration = std::move(RM_CONCAT(rm_try_, __LINE__)).value()

// RM_RETURN_IF_ERROR(f()): for a Status.
#define RM_RETURN_IF_ERROR(expression)                                                        \
    do {                                                                                      \
        if (auto rm_status = (expression); !rm_status) return ::rm::Error(rm_status.error()); \
    } while (false)
