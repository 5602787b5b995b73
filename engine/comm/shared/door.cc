#include "engine/comm/shared/door.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "base/text.h"
#include "engine/comm/message.h"

namespace rm {
namespace {

using Clock = std::chrono::steady_clock;

// How soon a stop is noticed, and how often a door whose queue is full is tried again.
constexpr std::chrono::milliseconds kLook{50};
// Callers that wait to be let in; the ranks of a node are fewer.
constexpr int kQueue = 256;

constexpr std::array<char, 16> kMagic = {"ringmaster-shm1"};
constexpr std::size_t kSecretBytes = 16;

// Both sides say this first; the box comes with it.
struct Hello {
    std::array<char, 16> magic = kMagic;
    std::int32_t from = 0;                        // the rank that says it
    std::uint32_t ring = 0;                       // of its box, for the addressee
    std::array<char, 2 * kSecretBytes> secret{};  // of the addressee
};

// 128 random bits as text.
Result<std::string> random_word() {
    std::array<unsigned char, kSecretBytes> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        return make_error(ErrorCode::unavailable, "the system gives no random bytes: {}",
                          std::strerror(errno));
    }
    std::string word;
    for (const unsigned char byte : bytes)
        word += format("{:02x}", static_cast<unsigned>(byte));
    return word;
}

std::string own_user() {
    return std::to_string(::geteuid());
}

// Whether the process at the other end is this user's.
bool is_own(const UniqueFd& socket) {
    ucred peer{};
    socklen_t length = sizeof peer;
    return ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           peer.uid == ::geteuid();
}

UniqueFd new_socket() {
    return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// A first byte of zero: the name is in the network namespace and no file.
struct DoorAddress {
    explicit DoorAddress(const std::string& name) {
        address.sun_family = AF_UNIX;
        const std::size_t size = std::min(name.size(), sizeof address.sun_path - 1);
        std::copy_n(name.begin(), size, address.sun_path + 1);
        length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
    }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
    sockaddr_un address{};
    socklen_t length = 0;
};

// A message of one Hello and one descriptor.
struct Envelope {
    Envelope() {
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
    }
    Hello hello;
    iovec part{&hello, sizeof hello};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
};

bool say(const UniqueFd& socket, const Hello& hello, int box) {
    Envelope envelope;
    envelope.hello = hello;
    cmsghdr* const header = CMSG_FIRSTHDR(&envelope.message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof box);
    std::memcpy(CMSG_DATA(header), &box, sizeof box);
    return ::sendmsg(socket.get(), &envelope.message, MSG_NOSIGNAL) ==
           static_cast<ssize_t>(sizeof hello);
}

struct Heard {
    enum class What { nothing_yet, hello, no_hello } what = What::nothing_yet;
    Hello hello;
    UniqueFd box;
};

Heard hear(const UniqueFd& socket) {
    Envelope envelope;
    const ssize_t size = ::recvmsg(socket.get(), &envelope.message, MSG_CMSG_CLOEXEC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    Heard heard{Heard::What::no_hello, envelope.hello, UniqueFd()};
    const cmsghdr* const header = size > 0 ? CMSG_FIRSTHDR(&envelope.message) : nullptr;
    if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
        int box = -1;
        std::memcpy(&box, CMSG_DATA(header), sizeof box);
        heard.box = UniqueFd(box);
    }
    const bool whole = size == static_cast<ssize_t>(sizeof(Hello)) && heard.hello.magic == kMagic;
    if (whole && heard.box) heard.what = Heard::What::hello;
    return heard;
}

class NodeMeeting {
public:
    NodeMeeting(const Door& door, const Box& box, const std::vector<Place>& places,
                const std::vector<int>& near, const TransportOptions& options)
        : door_(door), box_(box), places_(places), near_(near), options_(options) {}

    Result<std::map<int, NodePeer>> run() {
        for (const int rank : near_) {
            if (rank < options_.rank) RM_RETURN_IF_ERROR(call(rank));
        }
        while (met_.size() < near_.size()) {
            RM_RETURN_IF_ERROR(check_time());
            wait_for_words();
            for (auto& [rank, socket] : called_) {
                RM_RETURN_IF_ERROR(hear_answer(rank, socket));
            }
            let_in();
            for (UniqueFd& caller : callers_)
                answer(caller);
            std::erase_if(called_, [](const auto& entry) { return !entry.second; });
            std::erase_if(callers_, [](const UniqueFd& caller) { return !caller; });
        }
        return std::move(met_);
    }

private:
    Status call(int rank) {
        UniqueFd socket = new_socket();
        const DoorAddress door(places_[usize(rank)].door);
        while (::connect(socket.get(), door.get(), door.length) != 0) {
            if (errno != EAGAIN && errno != EINTR) return not_reached(rank, errno);
            RM_RETURN_IF_ERROR(check_time());
            std::this_thread::sleep_for(kLook);
        }
        if (!is_own(socket)) return not_reached(rank, EPERM);
        if (!say(socket, hello_for(rank), box_.fd())) return not_reached(rank, errno);
        called_[rank] = std::move(socket);
        return {};
    }

    Hello hello_for(int rank) const {
        Hello hello;
        hello.from = options_.rank;
        const auto place = std::find(near_.begin(), near_.end(), rank);
        hello.ring = static_cast<std::uint32_t>(place - near_.begin());
        const std::string& secret = places_[usize(rank)].secret;
        std::copy_n(secret.begin(), std::min(secret.size(), hello.secret.size()),
                    hello.secret.begin());
        return hello;
    }

    bool knows_secret(const Hello& hello) const {
        return hello.secret == hello_for(options_.rank).secret;
    }

    void wait_for_words() const {
        std::vector<pollfd> sockets = {{door_.fd(), POLLIN, 0}};
        for (const auto& [rank, socket] : called_)
            sockets.push_back({socket.get(), POLLIN, 0});
        for (const UniqueFd& caller : callers_)
            sockets.push_back({caller.get(), POLLIN, 0});
        ::poll(sockets.data(), sockets.size(), static_cast<int>(kLook.count()));
    }

    Status hear_answer(int rank, UniqueFd& socket) {
        Heard heard = hear(socket);
        if (heard.what == Heard::What::nothing_yet) return {};
        const bool hello = heard.what == Heard::What::hello && knows_secret(heard.hello);
        if (!hello || heard.hello.from != rank) return not_reached(rank, ECONNRESET);
        return meet(rank, socket, heard);
    }

    void let_in() {
        while (true) {
            UniqueFd caller(::accept4(door_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
            if (!caller) return;
            if (is_own(caller)) callers_.push_back(std::move(caller));
        }
    }

    // Hangs up on a stranger.
    void answer(UniqueFd& caller) {
        Heard heard = hear(caller);
        if (heard.what == Heard::What::nothing_yet) return;
        const int rank = heard.hello.from;
        const bool hello = heard.what == Heard::What::hello && knows_secret(heard.hello);
        const bool awaited = hello && rank > options_.rank && !met_.contains(rank) &&
                             std::find(near_.begin(), near_.end(), rank) != near_.end();
        if (awaited && say(caller, hello_for(rank), box_.fd())) (void)meet(rank, caller, heard);
        caller.reset();
    }

    Status meet(int rank, UniqueFd& socket, Heard& heard) {
        const std::size_t ring = heard.hello.ring;
        auto box = Box::open(std::move(heard.box), ring);
        if (!box) return within(format("rank {}", rank), box.error());
        met_.emplace(rank, NodePeer{std::move(socket), *std::move(box), ring});
        return {};
    }

    Status check_time() const {
        if (options_.stop != nullptr && options_.stop->load()) {
            return make_error(ErrorCode::cancelled, "asked to stop before the ranks had met");
        }
        if (Clock::now() < deadline_) return {};
        std::vector<int> missing;
        std::copy_if(near_.begin(), near_.end(), std::back_inserter(missing),
                     [&](int rank) { return !met_.contains(rank); });
        return make_error(ErrorCode::deadline_exceeded,
                          "waited {} for {} {} at its own address, {}, which did not connect",
                          options_.timeout, missing.size() == 1 ? "rank" : "ranks", join(missing),
                          own_place().address);
    }

    const Place& own_place() const { return places_[usize(options_.rank)]; }

    Error not_reached(int rank, int failure) const {
        return make_error(ErrorCode::unavailable,
                          "could not connect to rank {} at its own address, {}: {}; it has left, "
                          "or another machine has the same address",
                          rank, own_place().address, std::strerror(failure));
    }

    const Door& door_;
    const Box& box_;
    const std::vector<Place>& places_;
    const std::vector<int>& near_;
    const TransportOptions& options_;
    const Clock::time_point deadline_ = deadline_after(options_.timeout);
    std::map<int, UniqueFd> called_;  // and have not answered yet
    std::vector<UniqueFd> callers_;   // and have not said who they are
    std::map<int, NodePeer> met_;
};

}  // namespace

Result<Door> Door::open() {
    RM_TRY(const std::string name, random_word());
    RM_TRY(std::string secret, random_word());
    UniqueFd socket = new_socket();
    const DoorAddress address("ringmaster-" + name);
    if (!socket || ::bind(socket.get(), address.get(), address.length) != 0 ||
        ::listen(socket.get(), kQueue) != 0) {
        return make_error(ErrorCode::unavailable, "cannot listen for the ranks of its node: {}",
                          std::strerror(errno));
    }
    return Door(std::move(socket), "ringmaster-" + name, std::move(secret));
}

Place Door::place(const std::string& address) const {
    return {address, own_user(), name_, secret_};
}

Result<std::map<int, NodePeer>> meet_on_node(const Door& door, const Box& box,
                                             const std::vector<Place>& places,
                                             const std::vector<int>& near,
                                             const TransportOptions& options) {
    return NodeMeeting(door, box, places, near, options).run();
}

}  // namespace rm
