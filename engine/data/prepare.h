#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/data/text/text_source.h"
#include "engine/tokenizer/tokenizer.h"

namespace rm {

struct PrepareCounts {
    std::int64_t documents = 0;        // written
    std::int64_t empty_documents = 0;  // skipped
    std::int64_t tokens = 0;
    std::int64_t bytes = 0;  // of text
};

struct PrepareProgress {
    PrepareCounts counts;
    std::int64_t stored_done = 0;  // of stored_total: bytes of the files
    std::int64_t stored_total = 0;
};

struct PrepareOptions {
    std::string output;  // prefix of .bin and .idx
    int num_threads = 1;
    const std::atomic<bool>* stop = nullptr;  // true: ends with `cancelled`, leaving no files
    // Called on prepare's thread, at most about ten times a second and once at the end.
    std::function<void(const PrepareProgress&)> on_progress = [](const PrepareProgress&) {};
};

// Encodes every document of the texts, in order, into a Megatron data set; each is
// encode_document's: prefix, text, suffix, end. The files do not depend on the number of threads.
// Memory is bounded by a few documents for each thread.
Result<PrepareCounts> prepare(const std::vector<std::unique_ptr<TextSource>>& texts,
                              const Tokenizer& tokenizer, const PrepareOptions& options);

}  // namespace rm
