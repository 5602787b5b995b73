#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"

// Who did what, and who was not let in.
namespace rm {

struct AuditEntry {
    WallTime time;
    std::string principal;   // as the credential names it; empty: it proved nothing
    std::string credential;  // "certificate 1F2E", "token", "unix socket", "loopback"; empty: none
    std::string peer;        // the caller's address, or the listener where it is not known
    std::string method;      // full name, /package.Service/Method
    std::string subject;     // the job or node it is about; empty: none
    std::string code;        // "ok", or what to_string(ErrorCode) says
    std::string reason;      // why it was refused
    std::string arguments;   // what else was asked for; empty: nothing

    bool allowed() const { return code == kOk; }
    static constexpr std::string_view kOk = "ok";
};

// Takes entries from any thread, quickly: what is slow happens elsewhere.
class AuditSink {
public:
    virtual ~AuditSink() = default;
    virtual void record(AuditEntry entry) = 0;
};

}  // namespace rm
