#pragma once

#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"

namespace rm {

// A file system in memory, visible only to this thread and to what it starts from now on.
class SmallDisk {
public:
    explicit SmallDisk(const std::string& size = "64m") {
        const std::string options = "size=" + size;
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("tmpfs", path().c_str(), "tmpfs", 0, options.c_str()) != 0) {
            why_not_ = std::strerror(errno);
        }
    }
    ~SmallDisk() {
        if (why_not_.empty()) ::umount2(path().c_str(), MNT_DETACH);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

    const std::string& why_not() const { return why_not_; }  // empty: the disk exists
    const std::string& path() const { return directory_.path(); }
    std::string file(const std::string& name) const { return directory_.file(name); }
    // Fills it to the last page; tmpfs gives even a file of one byte a page. Once more: fills what
    // has become free.
    void fill() const {
        std::ofstream file(this->file("filler"), std::ios::binary | std::ios::app);
        const std::string block(4096, 'x');
        while (file.write(block.data(), 4096).flush()) {
        }
    }
    void empty() const { std::filesystem::remove(file("filler")); }
    bool make_read_only() const { return remount(MS_RDONLY); }
    bool make_writable() const { return remount(0); }

private:
    bool remount(unsigned long flags) const {
        return ::mount("none", path().c_str(), nullptr, MS_REMOUNT | MS_BIND | flags, nullptr) == 0;
    }

    TempDir directory_;
    std::string why_not_;
};

}  // namespace rm
