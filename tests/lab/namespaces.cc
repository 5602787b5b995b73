#include "tests/lab/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "base/check.h"
#include "tests/support/run_program.h"

namespace rm::lab {
namespace {

// Tries it on a thread that ends, so that the caller stays in its namespace.
int error_of_a_try() {
    int failure = 0;
    std::thread([&] { failure = ::unshare(CLONE_NEWNET) == 0 ? 0 : errno; }).join();
    return failure;
}

// Makes the caller root of a new user namespace: uid 0 there maps to the caller's uid.
int enter_user_namespace() {
    const std::string uid = format("0 {} 1", ::geteuid());
    const std::string gid = format("0 {} 1", ::getegid());
    if (::unshare(CLONE_NEWUSER) != 0) return errno;
    std::ofstream("/proc/self/uid_map") << uid;
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/gid_map") << gid;
    return error_of_a_try();
}

std::string find_out() {
    int failure = error_of_a_try();
    if (failure == EPERM) failure = enter_user_namespace();
    if (failure != 0) return format("no network namespaces here: {}", std::strerror(failure));
    const test::Finished tools =
        test::run_program("PATH=$PATH:/usr/sbin:/sbin", "; tc -V && ip -V");
    return tools.code == 0 ? "" : "no iproute2 here: " + tools.output;
}

int new_namespace() {
    int fd = -1;
    std::thread([&] {
        if (::unshare(CLONE_NEWNET) != 0) return;
        fd = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    }).join();
    RM_CHECK(fd >= 0, "no network namespace can be made: {}", std::strerror(errno));
    return fd;
}

}  // namespace

std::string why_no_namespaces() {
    static const std::string reason = find_out();
    return reason;
}

Namespace::Namespace() : fd_(new_namespace()) {}

Namespace::~Namespace() {
    if (fd_ >= 0) ::close(fd_);
}

Namespace::Namespace(Namespace&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

std::string Namespace::path() const {
    return format("/proc/{}/fd/{}", ::getpid(), fd_);
}

void Namespace::shell(const std::string& script) const {
    const test::Finished run = test::run_program("PATH=$PATH:/usr/sbin:/sbin nsenter",
                                                 format("--net={} sh -ec '{}'", path(), script));
    RM_CHECK(run.code == 0, "{}\nsaid: {}", script, run.output);
}

void Namespace::run(const std::function<void()>& work) const {
    bool entered = false;
    std::thread([&] {
        entered = ::setns(fd_, CLONE_NEWNET) == 0;
        if (entered) work();
    }).join();
    RM_CHECK(entered, "{} cannot be entered", path());
}

void Namespace::enter() const {
    RM_CHECK(::setns(fd_, CLONE_NEWNET) == 0, "{} cannot be entered", path());
}

}  // namespace rm::lab
