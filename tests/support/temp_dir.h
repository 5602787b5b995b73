#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"

namespace rm::test {

// A private directory, removed at the end.
class TempDir {
public:
    TempDir() {
        std::string pattern = (std::filesystem::temp_directory_path() / "rm-test.XXXXXX").string();
        RM_CHECK(mkdtemp(pattern.data()) != nullptr, "cannot make {}", pattern);
        path_ = pattern;
    }
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;
    ~TempDir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + "/" + name; }
    void write(const std::string& name, const std::string& text) const {
        const std::filesystem::path to = file(name);
        std::filesystem::create_directories(to.parent_path());
        std::ofstream(to) << text;
    }

private:
    std::string path_;
};

}  // namespace rm::test
