#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"

// Records which caller did what, and which callers were refused.
namespace rm {

struct AuditEntry {
    WallTime time;
    std::string principal;   // as the credential names it; empty: not authenticated
    std::string credential;  // "certificate 1F2E", "token", "unix socket", "loopback"; empty: none
    std::string peer;        // the caller's address, or the listener where it is not known
    std::string method;      // full name, /package.Service/Method
    std::string subject;     // the job or node it is about; empty: none
    std::string code;        // "ok", or what to_string(ErrorCode) says
    std::string reason;      // why it was refused
    std::string arguments;   // the request's other arguments; empty: none

    bool allowed() const { return code == kOk; }
    static constexpr std::string_view kOk = "ok";
};

// Takes entries from any thread and returns quickly: slow work happens elsewhere.
class AuditSink {
public:
    virtual ~AuditSink() = default;
    virtual void record(AuditEntry entry) = 0;
};

}  // namespace rm
