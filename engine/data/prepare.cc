#include "engine/data/prepare.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/words.h"
#include "engine/data/tokens/megatron_writer.h"

namespace rm {
namespace {

constexpr std::int64_t kBatchBytes = 1 << 20;

// Documents [first, first + count) of one text, which a thread takes at a time.
struct Batch {
    std::size_t text = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::int64_t stored = 0;
};

struct EncodedBatch {
    std::vector<TokenId> tokens;
    std::vector<std::size_t> ends;  // in tokens, of each document
    std::int64_t empty_documents = 0;
    std::int64_t bytes = 0;
};

std::vector<Batch> cut_into_batches(const std::vector<std::unique_ptr<TextSource>>& texts) {
    std::vector<Batch> batches;
    for (std::size_t text = 0; text < texts.size(); ++text) {
        for (std::int64_t i = 0; i < texts[text]->num_documents(); ++i) {
            if (i == 0 || batches.back().stored >= kBatchBytes) batches.push_back({text, i, 0, 0});
            ++batches.back().count;
            batches.back().stored += texts[text]->stored_bytes(i);
        }
    }
    return batches;
}

// Hands out batches in order and takes them back in any order; at most `window` are out.
class Exchange {
public:
    Exchange(std::size_t num_batches, std::size_t window)
        : num_batches_(num_batches), window_(window) {}

    // The next batch to encode; nothing when none is left or end() was called.
    std::optional<std::size_t> take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return over_ || next_ < written_ + window_; });
        if (over_ || next_ == num_batches_) return std::nullopt;
        return next_++;
    }
    void give(std::size_t batch, Result<EncodedBatch> encoded) {
        const std::lock_guard lock(mutex_);
        done_.emplace(batch, std::move(encoded));
        changed_.notify_all();
    }
    // The batch to write next, or nothing if it does not arrive within `wait`.
    std::optional<Result<EncodedBatch>> collect(std::chrono::milliseconds wait) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, wait, [&] { return done_.contains(written_); });
        auto found = done_.extract(written_);
        if (found.empty()) return std::nullopt;
        ++written_;
        changed_.notify_all();
        return std::move(found.mapped());
    }
    void end() {
        const std::lock_guard lock(mutex_);
        over_ = true;
        changed_.notify_all();
    }

private:
    const std::size_t num_batches_;
    const std::size_t window_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t next_ = 0;
    std::size_t written_ = 0;
    std::map<std::size_t, Result<EncodedBatch>> done_;
    bool over_ = false;
};

class BatchEncoder {
public:
    BatchEncoder(const std::vector<std::unique_ptr<TextSource>>& texts, const Tokenizer& tokenizer)
        : tokenizer_(tokenizer), encoder_(tokenizer.make_encoder()) {
        for (const auto& text : texts)
            readers_.push_back(text->make_reader());
    }

    Result<EncodedBatch> encode(const Batch& batch) {
        EncodedBatch out;
        for (std::int64_t i = batch.first; i < batch.first + batch.count; ++i) {
            RM_TRY(const std::string text, readers_[batch.text]->load(i));
            out.bytes += std::ssize(text);
            if (text.empty()) {
                ++out.empty_documents;
                continue;
            }
            RM_RETURN_IF_ERROR(encode_document(tokenizer_, *encoder_, text, out.tokens));
            out.ends.push_back(out.tokens.size());
        }
        return out;
    }

private:
    const Tokenizer& tokenizer_;
    std::unique_ptr<Encoder> encoder_;
    std::vector<std::unique_ptr<TextReader>> readers_;
};

// Threads that encode until no batch is left; the destructor stops and joins them.
class Workers {
public:
    Workers(int count, Exchange& exchange, const std::vector<Batch>& batches,
            const std::vector<std::unique_ptr<TextSource>>& texts, const Tokenizer& tokenizer)
        : exchange_(exchange) {
        for (int i = 0; i < count; ++i) {
            threads_.emplace_back([&] {
                BatchEncoder encoder(texts, tokenizer);
                while (const auto batch = exchange.take())
                    exchange.give(*batch, encoder.encode(batches[*batch]));
            });
        }
    }
    ~Workers() {
        exchange_.end();
        for (std::thread& thread : threads_)
            thread.join();
    }
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

private:
    Exchange& exchange_;
    std::vector<std::thread> threads_;
};

Status write(const EncodedBatch& batch, MegatronWriter& writer, PrepareCounts& counts) {
    std::size_t begin = 0;
    for (const std::size_t end : batch.ends) {
        RM_RETURN_IF_ERROR(
            writer.add_document(std::span(batch.tokens).subspan(begin, end - begin)));
        begin = end;
    }
    counts.documents += std::ssize(batch.ends);
    counts.empty_documents += batch.empty_documents;
    counts.tokens += std::ssize(batch.tokens);
    counts.bytes += batch.bytes;
    return {};
}

// Reports progress at intervals.
class Reporter {
public:
    explicit Reporter(const PrepareOptions& options) : options_(options) {}
    void maybe(const PrepareProgress& progress) {
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < std::chrono::milliseconds(100)) return;
        last_ = now;
        options_.on_progress(progress);
    }

private:
    const PrepareOptions& options_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

Result<PrepareCounts> prepare(const std::vector<std::unique_ptr<TextSource>>& texts,
                              const Tokenizer& tokenizer, const PrepareOptions& options) {
    RM_TRY([[maybe_unused]] const TokenId end, require_end_of_document(tokenizer));
    RM_TRY(MegatronWriter writer, MegatronWriter::create(options.output, tokenizer.vocabulary()));
    const std::vector<Batch> batches = cut_into_batches(texts);
    PrepareProgress progress;
    for (const Batch& batch : batches)
        progress.stored_total += batch.stored;

    Exchange exchange(batches.size(), usize(4 * options.num_threads));
    const Workers workers(options.num_threads, exchange, batches, texts, tokenizer);
    Reporter reporter(options);
    for (std::size_t written = 0; written < batches.size();) {
        if (options.stop != nullptr && *options.stop) {
            return make_error(ErrorCode::cancelled, "stopped; nothing is written");
        }
        auto batch = exchange.collect(std::chrono::milliseconds(50));
        reporter.maybe(progress);
        if (!batch) continue;
        if (!*batch) return batch->error();
        RM_RETURN_IF_ERROR(write(**batch, writer, progress.counts));
        progress.stored_done += batches[written++].stored;
    }
    if (progress.counts.documents == 0) {
        return invalid_argument("there is no text: {} in all, and nothing in {}",
                                counted(progress.counts.empty_documents, "document"),
                                progress.counts.empty_documents == 1 ? "it" : "them");
    }
    RM_RETURN_IF_ERROR(writer.finish());
    options.on_progress(progress);
    return progress.counts;
}

}  // namespace rm
