#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/check.h"

namespace rm {

// A private directory, removed by the destructor. In memory where the system has such a place:
// hundreds of fsyncs on a busy disk take half a minute.
class TempDir {
public:
    TempDir() {
        const bool in_memory = ::access("/dev/shm", W_OK | X_OK) == 0;
        std::string pattern =
            (in_memory ? "/dev/shm" : std::filesystem::temp_directory_path().string()) +
            "/rm-test-XXXXXX";
        RM_CHECK(::mkdtemp(pattern.data()) != nullptr, "cannot make {}", pattern);
        path_ = pattern;
    }
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;
    ~TempDir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    const std::string& path() const { return path_; }
    std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
    std::string operator/(std::string_view name) const { return file(name); }
    void write(std::string_view name, std::string_view text) const {
        const std::filesystem::path to = file(name);
        std::filesystem::create_directories(to.parent_path());
        std::ofstream(to, std::ios::binary) << text;
    }

private:
    std::string path_;
};

}  // namespace rm
