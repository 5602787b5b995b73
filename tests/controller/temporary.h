#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/check.h"

namespace rm::test {

// A directory of its own, removed at the end.
class TemporaryDirectory {
public:
    TemporaryDirectory() {
        std::string pattern = (std::filesystem::temp_directory_path() / "rm-XXXXXX").string();
        RM_CHECK(::mkdtemp(pattern.data()) != nullptr, "mkdtemp {} failed", pattern);
        path_ = pattern;
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

}  // namespace rm::test
