#include "worker/roots/index_hash.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/os/unique_fd.h"
#include "engine/data/file/hash.h"
#include "worker/dir/files.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPiece = 64 << 10;
constexpr std::size_t kMostRead = 20'000;

struct File {
    std::string name;  // from the path that was asked for
    std::string path;
    std::int64_t size = 0;
    std::int64_t changed = 0;  // nanoseconds
    std::int64_t inode = 0;
};

class Listing {
public:
    explicit Listing(const std::vector<DeclaredRoot>& roots) : roots_(roots) {}

    Status add(const std::string& name, const std::string& path) {
        struct stat info {};
        if (::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) {
            RM_RETURN_IF_ERROR(check_link(path));
        }
        if (::stat(path.c_str(), &info) != 0) return system_error("cannot look at", path, errno);
        if (S_ISDIR(info.st_mode)) return add_directory(name, path);
        if (!S_ISREG(info.st_mode)) return invalid_argument("{} is not a regular file", path);
        files_.push_back({.name = name,
                          .path = path,
                          .size = info.st_size,
                          .changed = info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec,
                          .inode = static_cast<std::int64_t>(info.st_ino)});
        return {};
    }

    std::vector<File> sorted() && {
        std::sort(files_.begin(), files_.end(),
                  [](const File& a, const File& b) { return a.name < b.name; });
        return std::move(files_);
    }

private:
    Status add_directory(const std::string& name, const std::string& path) {
        if (++depth_ > kDeepest)
            return invalid_argument("{} is nested too deeply, or its links form a circle", path);
        std::error_code failed;
        fs::directory_iterator at(path, failed);
        for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
            const std::string file = at->path().filename().string();
            if (file.starts_with('.')) continue;
            RM_RETURN_IF_ERROR(add(name + "/" + file, at->path().string()));
        }
        if (failed) return system_error("cannot list", path, failed.value());
        --depth_;
        return {};
    }
    Status check_link(const std::string& path) const {
        const auto found = find_path(roots_, path);
        if (found) return {};
        return make_error(found.error().code, "{} {}", path, found.error().message);
    }

    static constexpr int kDeepest = 64;
    const std::vector<DeclaredRoot>& roots_;
    std::vector<File> files_;
    int depth_ = 0;
};

bool exists(const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

Status add_pair(Listing& listing, const std::string& prefix) {
    RM_RETURN_IF_ERROR(listing.add(".bin", prefix + ".bin"));
    return listing.add(".idx", prefix + ".idx");
}

Result<std::vector<File>> list(const std::vector<DeclaredRoot>& roots, const FoundPath& found) {
    Listing listing(roots);
    const std::string path = found.path();
    const bool half = path.ends_with(".bin") || path.ends_with(".idx");
    const std::string prefix = half ? path.substr(0, path.size() - 4) : path;
    if ((half || !found.is_there()) && exists(prefix + ".bin") && exists(prefix + ".idx")) {
        RM_RETURN_IF_ERROR(add_pair(listing, prefix));
    } else if (!found.is_there()) {
        return make_error(ErrorCode::not_found, "No such file or directory");
    } else {
        RM_RETURN_IF_ERROR(listing.add("", path));
    }
    return std::move(listing).sorted();
}

std::string hash_of(const std::vector<File>& files) {
    Xxh3 hash;
    for (const File& file : files) {
        hash.update(file.name + '\n');
        hash.update(file.size);
        hash.update(file.changed);
        hash.update(file.inode);
    }
    return hash.hex();
}

Status add_piece(Xxh3& hash, const UniqueFd& fd, const File& file, std::int64_t offset) {
    std::string bytes(usize(std::min(kPiece, file.size - offset)), '\0');
    const ssize_t size = ::pread(fd.get(), bytes.data(), bytes.size(), offset);
    if (size < 0) return system_error("cannot read", file.path, errno);
    hash.update(std::string_view(bytes).substr(0, usize(size)));
    return {};
}

Status add_ends(Xxh3& hash, const File& file) {
    const UniqueFd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.get() < 0) return system_error("cannot open", file.path, errno);
    if (file.size > 0) RM_RETURN_IF_ERROR(add_piece(hash, fd, file, 0));
    if (file.size <= kPiece) return {};
    return add_piece(hash, fd, file, std::max(kPiece, file.size - kPiece));
}

}  // namespace

Result<std::string> IndexHashes::of(const std::vector<DeclaredRoot>& roots, const FoundPath& path) {
    RM_TRY(const std::vector<File> files, list(roots, path));
    Known& known = known_[path.path()];
    const std::string listing = hash_of(files);
    if (known.listing == listing) return known.index;
    Xxh3 hash;
    for (std::size_t i = 0; i < files.size(); ++i) {
        hash.update(files[i].name + '\n');
        hash.update(files[i].size);
        if (i < kMostRead) RM_RETURN_IF_ERROR(add_ends(hash, files[i]));
    }
    known = {listing, hash.hex()};
    return known.index;
}

}  // namespace rm
