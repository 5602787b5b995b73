#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/check.h"

namespace rm {

// A fresh directory that goes with the object.
class TempDir {
public:
    TempDir() {
        std::string pattern = (std::filesystem::temp_directory_path() / "rm-test-XXXXXX").string();
        RM_CHECK(::mkdtemp(pattern.data()) != nullptr, "cannot make {}", pattern);
        path_ = pattern;
    }
    ~TempDir() { std::filesystem::remove_all(path_); }
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    std::string file(const std::string& name) const { return path_ + "/" + name; }
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

}  // namespace rm
