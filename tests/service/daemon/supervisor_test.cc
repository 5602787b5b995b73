#include "service/daemon/supervisor.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "base/format.h"
#include "base/os/unique_fd.h"
#include "tests/support/temp_dir.h"

namespace rm::test {
namespace {

// systemd's end of the socket. A name that begins with '@' has no file.
class Listener {
public:
    explicit Listener(const std::string& name) : fd_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::copy(name.begin(), name.end(), address.sun_path);
        if (name[0] == '@') address.sun_path[0] = '\0';
        const auto length = offsetof(sockaddr_un, sun_path) + name.size();
        RM_CHECK(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address),
                        static_cast<socklen_t>(length)) == 0,
                 "cannot bind {}", name);
        ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    }
    std::string next() const {
        char text[256];
        const ssize_t size = ::recv(fd_.get(), text, sizeof text, MSG_DONTWAIT);
        return size < 0 ? "" : std::string(text, static_cast<std::size_t>(size));
    }

private:
    const UniqueFd fd_;
};

void expect_words(const Listener& listener) {
    const Supervisor supervisor = Supervisor::from_environment();
    supervisor.ready();
    supervisor.status("two\nlines");
    supervisor.alive();
    supervisor.stopping();
    EXPECT_EQ(listener.next(), "READY=1");
    EXPECT_EQ(listener.next(), "STATUS=two lines");
    EXPECT_EQ(listener.next(), "WATCHDOG=1");
    EXPECT_EQ(listener.next(), "STOPPING=1");
    EXPECT_EQ(listener.next(), "");
}

TEST(Supervisor, HearsOfTheDaemonOnAFileAndOnANameWithoutOne) {
    const TempDir dir;
    expect_words(Listener(dir.file("notify")));
    expect_words(Listener(format("@ringmaster-test-{}", ::getpid())));
}

// A loop that looks after ranks must not hang with it.
TEST(Supervisor, ThatDoesNotListenKeepsNoDaemonWaiting) {
    const TempDir dir;
    const Listener listener(dir.file("notify"));
    const Supervisor supervisor = Supervisor::from_environment();
    int sent = 0;
    while (sent < 10'000 && supervisor.status("x"))
        ++sent;
    EXPECT_LT(sent, 10'000);
    supervisor.alive();
    EXPECT_EQ(listener.next(), "STATUS=x");
    EXPECT_TRUE(supervisor.status("y")) << "there is room again";
}

TEST(Supervisor, TakesItsWordsFromTheEnvironmentOfChildren) {
    ::setenv("NOTIFY_SOCKET", "/nowhere/notify", 1);
    ::setenv("WATCHDOG_USEC", "3000000", 1);
    ::setenv("WATCHDOG_PID", format("{}", ::getpid()).c_str(), 1);
    const Supervisor supervisor = Supervisor::from_environment();
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
        EXPECT_EQ(std::getenv(name), nullptr) << name;
    ASSERT_TRUE(supervisor.alive_every());
    EXPECT_DOUBLE_EQ(supervisor.alive_every()->value, 1.5);
    supervisor.ready();  // there is no such socket, which is no error
}

TEST(Supervisor, OfAnotherProcessOrOfNoneAsksForNothing) {
    ::setenv("WATCHDOG_USEC", "3000000", 1);
    ::setenv("WATCHDOG_PID", "1", 1);
    EXPECT_FALSE(Supervisor::from_environment().alive_every());
    ::setenv("WATCHDOG_USEC", "soon", 1);
    EXPECT_FALSE(Supervisor::from_environment().alive_every());
    EXPECT_FALSE(Supervisor::from_environment().alive_every());
}

}  // namespace
}  // namespace rm::test
