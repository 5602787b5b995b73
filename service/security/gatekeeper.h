#pragma once

#include <span>
#include <string>
#include <string_view>

#include "service/security/authenticator.h"
#include "service/security/role.h"
#include "spec/audit.h"

namespace rm {

struct CallFacts {
    std::string_view method;  // full name, as the caller sent it
    std::string_view peer;
    std::string_view arguments = {};  // of a call that has ended, for its audit row
    Stopwatch since_begin = {};
};

// Learns of the end of every call, refused ones too. Any thread may call it.
class CallWatch {
public:
    virtual ~CallWatch() = default;
    // `method`: a name of the gatekeeper's table, or `other`. `code`: AuditEntry::kOk, or an
    // ErrorCode's name.
    virtual void ended(std::string_view method, std::string_view code, Seconds duration) = 0;
};

// Decides about every call before anything else sees it, and records refused callers. Thread safe;
// what it refers to outlives it.
class Gatekeeper {
public:
    Gatekeeper(const Authenticator& authenticator, std::span<const MethodAccess> table,
               AuditSink& audit, const Clock& clock, CallWatch* watch = nullptr)
        : authenticator_(authenticator),
          table_(table),
          audit_(audit),
          clock_(clock),
          watch_(watch) {}

    // UNAUTHENTICATED: unknown caller; PERMISSION_DENIED: the role is not enough; UNIMPLEMENTED: in
    // no table, whether it exists or not.
    Result<Principal> admit(const Presented& presented, const CallFacts& call) const;
    // Identifies the caller of an admitted call, without deciding or recording.
    Result<Principal> identify(const Presented& presented) const {
        return authenticator_.identify(presented, clock_.wall());
    }
    // Null: no table has it.
    const MethodAccess* access(std::string_view method) const;
    // Tells the watch of the end of an admitted call, and records it if its method changes
    // something.
    void ended(const Presented& presented, const CallFacts& call, const std::string& subject,
               const Status& status) const;

    // Records that an admitted call turned out not to be allowed, whatever its method changes.
    void refused_later(const Presented& presented, const CallFacts& call,
                       const std::string& subject, const Status& status) const;

private:
    Status allow(const Principal& principal, const MethodAccess* access) const;
    void refused(const Principal& principal, const CallFacts& call, const Status& status) const;
    void tell(const CallFacts& call, const Status& status) const;
    void record(const Principal& principal, const CallFacts& call, const std::string& subject,
                const Status& status) const;

    const Authenticator& authenticator_;
    const std::span<const MethodAccess> table_;
    AuditSink& audit_;
    const Clock& clock_;
    CallWatch* const watch_;  // null: none
};

}  // namespace rm
