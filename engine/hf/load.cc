#include "engine/hf/load.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/model/nonfinite.h"
#include "kernels/host_blocks.h"

namespace rm {
namespace {

// The piece's elements from `first` of the parameter's part on; the whole tensor lies in the file.
Status read_part(const HfDirectory& directory, const Parameter& p, std::int64_t first,
                 const TensorView& out) {
    for (std::int64_t done = 0; done < out.num_elements();) {
        const std::int64_t at = first + done;
        const std::int64_t rest = out.num_elements() - done;
        const std::int64_t row = p.cut == Cut::columns ? p.part_shape[1] : 0;
        const std::int64_t count = row == 0 ? rest : std::min(rest, row - at % row);
        const TensorView part = out.rows(done, count);
        RM_RETURN_IF_ERROR(directory.read(p.name, p.whole_index(at), part));
        if (const auto found = find_nonfinite(part)) {
            return data_loss("{}: {}{} is {}; a model can only be trained on from finite weights",
                             directory.path(), p.name,
                             coordinates_text(p.whole_index(at + found->element), p.shape),
                             found->value);
        }
        done += count;
    }
    return {};
}

Status check_tied_head(const HfDirectory& directory, const Parameter& embedding) {
    constexpr std::int64_t kBlockElements = 1 << 18;
    std::vector<float> expected(kBlockElements), head(kBlockElements);
    for (std::int64_t at = 0; at < embedding.num_elements(); at += kBlockElements) {
        const std::int64_t count = std::min(kBlockElements, embedding.num_elements() - at);
        const TensorView a(expected.data(), DType::f32, {count});
        const TensorView b(head.data(), DType::f32, {count});
        RM_RETURN_IF_ERROR(directory.read(embedding.name, at, a));
        RM_RETURN_IF_ERROR(directory.read(std::string(kHfHeadName), at, b));
        for (std::int64_t i = 0; i < count; ++i) {
            const auto n = static_cast<std::size_t>(i);
            if (std::memcmp(&head[n], &expected[n], sizeof(float)) == 0) continue;
            return data_loss("{}: tie_word_embeddings is true, but {} differs from {} in row {}",
                             directory.path(), kHfHeadName, embedding.name,
                             (at + i) / embedding.shape[1]);
        }
    }
    return {};
}

}  // namespace

Status load_hf_weights(const HfDirectory& directory, WeightState& weights, Activity* activity) {
    HostBlocks blocks(weights.device());
    for (const StatePiece& piece : weights.held()) {
        const Parameter& p = weights.parameter(piece.parameter);
        RM_RETURN_IF_ERROR(
            blocks.write(piece.weight, [&](std::int64_t first, const TensorView& block) -> Status {
                if (activity != nullptr) {
                    RM_RETURN_IF_ERROR(activity->check());
                    activity->done += block.num_bytes().value;
                }
                return read_part(directory, p, piece.first + first, block);
            }));
    }
    weights.zero_moments();
    if (!directory.model().tied_head || !directory.has(std::string(kHfHeadName))) return {};
    if (weights.share().world_rank != 0) return {};
    return check_tied_head(directory, weights.parameter(weights.table().embedding));
}

}  // namespace rm
