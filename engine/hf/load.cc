#include "engine/hf/load.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/host_blocks.h"

namespace rm {
namespace {

// `expected`: host memory, elements of the embedding from `first` on.
template <typename T>
Status compare_tied_head(const HfDirectory& directory, std::int64_t first,
                         const TensorView& expected, std::int64_t C) {
    constexpr std::int64_t kBlockElements = 1 << 18;
    std::vector<T> block;
    for (std::int64_t at = 0; at < expected.num_elements(); at += kBlockElements) {
        const std::int64_t count = std::min(kBlockElements, expected.num_elements() - at);
        block.resize(static_cast<std::size_t>(count));
        const TensorView head(block.data(), expected.dtype(), {count});
        RM_RETURN_IF_ERROR(directory.read(std::string(kHfHeadName), first + at, head));
        for (std::int64_t i = 0; i < count; ++i) {
            if (std::memcmp(&block[static_cast<std::size_t>(i)], expected.as<T>() + at + i,
                            sizeof(T)) == 0) {
                continue;
            }
            return make_error(ErrorCode::data_loss,
                              "{}: tie_word_embeddings is true, but {} differs from {} in row {}",
                              directory.path(), kHfHeadName, "model.embed_tokens.weight",
                              (first + at + i) / C);
        }
    }
    return {};
}

}  // namespace

Status load_hf_weights(const HfDirectory& directory, Weights& weights) {
    const ParameterTable& table = weights.table();
    HostBlocks blocks(weights.device());
    for (int i = 0; i < static_cast<int>(table.all.size()); ++i) {
        const std::string& name = table.all[static_cast<std::size_t>(i)].name;
        RM_RETURN_IF_ERROR(
            blocks.write(weights.weight(i), [&](std::int64_t first, const TensorView& block) {
                return directory.read(name, first, block);
            }));
    }
    weights.zero_moments();
    if (!directory.model().tied_head || !directory.has(std::string(kHfHeadName))) return {};
    const TensorView& embedding = weights.embedding();
    const auto compare =
        embedding.dtype() == DType::f64 ? compare_tied_head<double> : compare_tied_head<float>;
    return blocks.read(embedding, [&](std::int64_t first, const TensorView& block) {
        return compare(directory, first, block, embedding.dim(1));
    });
}

}  // namespace rm
