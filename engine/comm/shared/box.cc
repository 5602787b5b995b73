#include "engine/comm/shared/box.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace rm {
namespace {

// The head, and the state and the bytes of each ring begin on pages of their own.
constexpr std::size_t kPage = 4096;
constexpr std::size_t kRingSpace = kPage + Box::kRingBytes;
static_assert(sizeof(BoxHead) <= kPage && sizeof(RingState) <= kPage);

constexpr std::size_t offset_of(std::size_t ring) {
    return kPage + ring * kRingSpace;
}

Error no_memory(std::size_t bytes, int failure) {
    return make_error(ErrorCode::resource_exhausted,
                      "cannot reserve {} bytes of shared memory for the ranks of a node: {}", bytes,
                      std::strerror(failure));
}

}  // namespace

Result<Mapping> Mapping::make(int fd, std::size_t bytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) return no_memory(bytes, errno);
    return Mapping({static_cast<std::byte*>(memory), bytes});
}

Mapping::~Mapping() {
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

void BoxHead::leave(const std::string& reason) {
    const std::size_t size = std::min(reason.size(), kLongestReason);
    std::copy_n(reason.begin(), size, reason_.begin());
    reason_size_.store(static_cast<std::uint32_t>(size) + 1);
}

std::optional<std::string> BoxHead::left() const {
    const std::size_t size = reason_size_.load();
    if (size == 0) return std::nullopt;
    return std::string(reason_.data(), std::min(size - 1, kLongestReason));
}

Result<Box> Box::make(std::size_t num_rings) {
    const std::size_t bytes = offset_of(num_rings);
    UniqueFd fd(::memfd_create("ringmaster-box", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd) return no_memory(bytes, errno);
    if (const int failure = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes))) {
        return no_memory(bytes, failure);
    }
    constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return no_memory(bytes, errno);
    RM_TRY(Mapping memory, Mapping::make(fd.get(), bytes));
    new (memory.bytes().data()) BoxHead;
    for (std::size_t ring = 0; ring < num_rings; ++ring)
        new (memory.bytes().data() + offset_of(ring)) RingState;
    return Box(std::move(fd), std::move(memory));
}

Result<Box> Box::open(UniqueFd fd, std::size_t ring) {
    struct stat status {};
    const int seals = ::fcntl(fd.get(), F_GET_SEALS);
    const bool sealed = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
    if (!sealed || ::fstat(fd.get(), &status) != 0 || ring >= usize(status.st_size) / kRingSpace) {
        return invalid_argument("its shared memory can shrink, or has no ring {} of {} bytes", ring,
                                kRingBytes);
    }
    RM_TRY(Mapping memory, Mapping::make(fd.get(), usize(status.st_size)));
    return Box({}, std::move(memory));
}

BoxHead& Box::head() const {
    return *std::launder(reinterpret_cast<BoxHead*>(memory_.bytes().data()));
}

RingReader Box::reader(std::size_t ring) const {
    return {state(ring), bytes(ring)};
}

RingWriter Box::writer(std::size_t ring) const {
    return {state(ring), bytes(ring)};
}

RingState& Box::state(std::size_t ring) const {
    std::byte* const at = memory_.bytes().data() + offset_of(ring);
    return *std::launder(reinterpret_cast<RingState*>(at));
}

std::span<std::byte> Box::bytes(std::size_t ring) const {
    return memory_.bytes().subspan(offset_of(ring) + kPage, kRingBytes);
}

}  // namespace rm
