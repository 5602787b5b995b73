#include "engine/generate/generator.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/bf16.h"

namespace rm {
namespace {

std::int64_t vocabulary(const RankEngine& engine) {
    return engine.spec().model.vocabulary;
}

double number_at(const std::byte* at, DType type) {
    switch (type) {
        case DType::bf16: {
            std::uint16_t value;
            std::memcpy(&value, at, sizeof(value));
            return from_bf16(static_cast<Bf16>(value));
        }
        case DType::f32: {
            float value;
            std::memcpy(&value, at, sizeof(value));
            return value;
        }
        default: {
            double value;
            std::memcpy(&value, at, sizeof(value));
            return value;
        }
    }
}

}  // namespace

Generator::Generator(RankEngine& engine, Meeting& meeting)
    : engine_(engine),
      meeting_(meeting),
      streams_(engine.streams()),
      decoding_(engine.decoding()),
      tokens_(usize(decoding_.layout.local_tokens)),
      logits_(usize(vocabulary(engine))) {
    Device& device = streams_.kernels.device();
    const int tensor = decoding_.layout.tensor;
    parts_ = Tensor(device, MemoryKind::workspace, streams_.kernels.types().compute,
                    {tensor, part_of(vocabulary(engine), tensor, 0).count});
    device.zero(parts_);
    host_parts_.resize(usize(parts_->num_bytes().value));
}

void Generator::begin(std::span<const std::int32_t> prompt) {
    RM_CHECK(!prompt.empty() && std::ssize(prompt) <= most_prompt(),
             "a prompt of {} tokens; this stage takes 1 to {}", prompt.size(), most_prompt());
    const auto before = std::ssize(prompt) - 1;
    const Sample sample{{prompt.begin(), prompt.end()}, {before}};
    if (before == 0) {
        prompt_.runs = padding_runs(engine_.layout());
    } else {
        prompt_ = make_micro_batch(sample, engine_.layout(), engine_.spec().positions);
    }
    decoding_.cache.begin(prompt_.runs, before);
    if (before == 0) return;
    streams_.kernels.device().upload(prompt_.tokens.data(), engine_.model().tokens(),
                                     streams_.compute);
    engine_.model().queue_prompt(prompt_.runs);
    engine_.weights().synchronize();
}

void Generator::upload_latest(std::int32_t token) {
    std::ranges::fill(tokens_, 0);
    if (latest_.local.front().document != kPaddingDocument) tokens_[0] = token;
    streams_.kernels.device().upload(tokens_.data(), decoding_.model->tokens(), streams_.compute);
}

void Generator::download_logits() {
    streams_.kernels.device().download(parts_, host_parts_.data(), streams_.compute);
    engine_.weights().synchronize();
    const std::int64_t bytes = size_of(parts_->dtype());
    for (int rank = 0; rank < decoding_.layout.tensor; ++rank) {
        const Part part = part_of(vocabulary(engine_), decoding_.layout.tensor, rank);
        const std::byte* row = host_parts_.data() + rank * parts_->dim(1) * bytes;
        for (std::int64_t i = 0; i < part.count; ++i)
            logits_[usize(part.first + i)] = number_at(row + i * bytes, parts_->dtype());
    }
}

std::span<const double> Generator::next(std::int32_t token) {
    decoding_.cache.extend();
    latest_ = decode_runs(decoding_.cache.num_tokens() - 1, decoding_.layout);
    upload_latest(token);
    decoding_.model->queue_logits(latest_, parts_);
    download_logits();
    return logits_;
}

std::int32_t Generator::agree(std::int32_t token) {
    return static_cast<std::int32_t>(
        meeting_.as_rank_0_says(std::array{static_cast<double>(token), 0.0})[0]);
}

}  // namespace rm
