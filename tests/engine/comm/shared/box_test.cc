#include "engine/comm/shared/box.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rm {
namespace {

using ::testing::HasSubstr;

UniqueFd copy_of(int fd) {
    return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

TEST(Box, IsTheSameMemoryForItsOwnerAndItsPeers) {
    auto own = Box::make(2);
    ASSERT_TRUE(own) << own.error().message;
    auto peer = Box::open(copy_of(own->fd()), 1);
    ASSERT_TRUE(peer) << peer.error().message;
    own->close_fd();
    RingWriter writer = peer->writer(1);
    RingReader reader = own->reader(1);
    const std::vector<std::byte> sent(100, std::byte{7});
    writer.put(sent);
    writer.publish();
    ASSERT_EQ(reader.available(), 100u);
    EXPECT_EQ(own->reader(0).available(), 0u) << "the other peer's ring";
    std::vector<std::byte> taken(100);
    reader.take(taken);
    EXPECT_EQ(taken, sent);
}

TEST(Box, SaysWhyItsOwnerLeft) {
    auto own = Box::make(1);
    auto peer = Box::open(copy_of(own->fd()), 0);
    EXPECT_EQ(peer->head().left(), std::nullopt);
    own->head().leave("the disk is full");
    EXPECT_EQ(peer->head().left(), "the disk is full");
}

TEST(Box, CutsAReasonThatIsTooLong) {
    auto own = Box::make(1);
    own->head().leave(std::string(100'000, 'x'));
    EXPECT_THAT(own->head().left().value(), HasSubstr("xxx"));
    EXPECT_LT(own->head().left()->size(), 4096u);
}

TEST(Box, CannotShrinkUnderAPeer) {
    auto own = Box::make(1);
    EXPECT_NE(::ftruncate(own->fd(), 0), 0);
}

TEST(Box, RefusesMemoryThatCouldShrinkOrHasNoSuchRing) {
    UniqueFd unsealed(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(unsealed.get(), 10 << 20), 0);
    EXPECT_THAT(Box::open(std::move(unsealed), 0).error().message, HasSubstr("can shrink"));
    UniqueFd no_memory(::open("/dev/null", O_RDWR | O_CLOEXEC));
    EXPECT_FALSE(Box::open(std::move(no_memory), 0));
    auto own = Box::make(2);
    EXPECT_TRUE(Box::open(copy_of(own->fd()), 1));
    EXPECT_THAT(Box::open(copy_of(own->fd()), 2).error().message, HasSubstr("no ring 2"));
    EXPECT_FALSE(Box::open(copy_of(own->fd()), std::size_t{1} << 62));
}

}  // namespace
}  // namespace rm
