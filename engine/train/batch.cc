#include "engine/train/batch.h"

#include "kernels/kernels.h"

namespace rm {
namespace {

MicroBatch padding_only(const RankLayout& layout) {
    const auto T = static_cast<std::size_t>(layout.local_tokens);
    return {std::vector<std::int32_t>(T, 0), std::vector<std::int32_t>(T, kIgnoreTarget),
            &layout.nothing};
}

MicroBatch cut_sequence(const Sample& sequence, const RankLayout& layout) {
    MicroBatch batch = padding_only(layout);
    batch.runs = &layout.sequence;
    std::size_t local = 0;
    for (const TokenRange& piece : layout.pieces) {
        for (std::int64_t i = 0; i < piece.count; ++i, ++local) {
            const std::int64_t position = piece.first + i;
            if (position >= layout.context) continue;
            batch.tokens[local] = sequence.tokens[static_cast<std::size_t>(position)];
            batch.targets[local] = sequence.tokens[static_cast<std::size_t>(position) + 1];
        }
    }
    return batch;
}

}  // namespace

StepBatch make_step_batch(const std::vector<Sample>& sequences, const RankLayout& layout,
                          const Mesh& mesh, int rank) {
    const auto data = static_cast<std::size_t>(mesh.size(Axis::data));
    const auto mine = static_cast<std::size_t>(mesh.coord(rank, Axis::data));
    StepBatch batch;
    for (std::size_t first = 0; first < sequences.size(); first += data) {
        const std::size_t n = first + mine;
        batch.micro_batches.push_back(n < sequences.size() ? cut_sequence(sequences[n], layout)
                                                           : padding_only(layout));
    }
    batch.num_targets = static_cast<std::int64_t>(sequences.size()) * layout.context;
    return batch;
}

Result<std::vector<Sample>> take_sequences(MixedStream& stream, std::int64_t count,
                                           std::int64_t context) {
    std::vector<Sample> sequences;
    for (std::int64_t n = 0; n < count; ++n) {
        RM_TRY(Sample sample, stream.next(context));
        sequences.push_back(std::move(sample));
    }
    return sequences;
}

}  // namespace rm
