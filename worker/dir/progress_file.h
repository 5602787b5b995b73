#pragma once

#include <string>

#include "base/result.h"
#include "engine/train/progress.h"

namespace rm {

// A rank's progress page, mapped from its file and shared by every process that maps it.
class ProgressFile {
public:
    static constexpr int kBytes = 4096;

    // Creates the zero-filled file.
    static Status create(const std::string& path);
    static Result<ProgressFile> map(const std::string& path);
    // Maps it read-only, so that its disk can still be remounted read-only.
    static Result<ProgressFile> map_to_read(const std::string& path);
    ~ProgressFile();
    ProgressFile(ProgressFile&& other) noexcept;
    ProgressFile& operator=(ProgressFile&& other) noexcept;

    ProgressPage& page() const { return *page_; }

private:
    static Result<ProgressFile> map(const std::string& path, int mode, int protection);
    explicit ProgressFile(ProgressPage* page) : page_(page) {}
    ProgressPage* page_ = nullptr;
};

}  // namespace rm
