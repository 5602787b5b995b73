#include "engine/hf/load.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace rm {
namespace {

// By blocks of rows, as the embedding has been read.
template <typename T>
Status compare_tied_head(const HfDirectory& directory, const TensorView& embedding) {
    const std::int64_t C = embedding.dim(1);
    const std::int64_t rows_per_block = std::max<std::int64_t>(1, (1 << 18) / C);
    std::vector<T> block;
    for (std::int64_t row = 0; row < embedding.dim(0); row += rows_per_block) {
        const TensorView expected =
            embedding.rows(row, std::min(rows_per_block, embedding.dim(0) - row));
        block.resize(static_cast<std::size_t>(expected.num_elements()));
        const TensorView head(block.data(), expected.dtype(), {expected.dim(0), C});
        RM_RETURN_IF_ERROR(directory.read(std::string(kHfHeadName), row * C, head));
        for (std::size_t i = 0; i < block.size(); ++i) {
            if (std::memcmp(&block[i], expected.as<T>() + i, sizeof(T)) == 0) continue;
            return make_error(ErrorCode::data_loss,
                              "{}: tie_word_embeddings is true, but {} differs from {} in row {}",
                              directory.path(), kHfHeadName, "model.embed_tokens.weight",
                              row + static_cast<std::int64_t>(i) / C);
        }
    }
    return {};
}

}  // namespace

Status load_hf_weights(const HfDirectory& directory, Weights& weights) {
    const ParameterTable& table = weights.table();
    for (int i = 0; i < static_cast<int>(table.all.size()); ++i) {
        const std::string& name = table.all[static_cast<std::size_t>(i)].name;
        RM_RETURN_IF_ERROR(directory.read(name, 0, weights.weight(i)));
        std::memset(weights.moment1(i).data(), 0, weights.moment1(i).bytes().size());
        std::memset(weights.moment2(i).data(), 0, weights.moment2(i).bytes().size());
    }
    if (!directory.model().tied_head || !directory.has(std::string(kHfHeadName))) return {};
    const TensorView& embedding = weights.embedding();
    return embedding.dtype() == DType::f64 ? compare_tied_head<double>(directory, embedding)
                                           : compare_tied_head<float>(directory, embedding);
}

}  // namespace rm
