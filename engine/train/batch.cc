#include "engine/train/batch.h"

#include <numeric>

#include "kernels/kernels.h"

namespace rm {
namespace {

MicroBatch padding_only(const RankLayout& layout) {
    const auto T = usize(layout.local_tokens);
    return {.tokens = std::vector<std::int32_t>(T, 0),
            .targets = std::vector<std::int32_t>(T, kIgnoreTarget),
            .contexts = std::vector<std::int32_t>(T, 0)};
}

// For each document, its tokens that have a target.
std::vector<TokenRange> with_targets(const Sample& sequence) {
    std::vector<TokenRange> ranges;
    std::int64_t first = 0;
    for (const std::int64_t length : sequence.documents) {
        ranges.push_back({first, length - 1});
        first += length;
    }
    if (!sequence.ends_document) ++ranges.back().count;
    return ranges;
}

void check(const Sample& sequence, const RankLayout& layout) {
    const std::vector<std::int64_t>& documents = sequence.documents;
    const std::int64_t tokens =
        std::accumulate(documents.begin(), documents.end(), std::int64_t{0});
    RM_CHECK(tokens == layout.context && std::ssize(sequence.tokens) == layout.context + 1,
             "a sample of {} tokens with documents of {}; context {} needs {} and {}",
             sequence.tokens.size(), tokens, layout.context, layout.context + 1, layout.context);
}

void count(const Sample& sequence, const RankLayout& layout, StepBatch& batch) {
    const std::int64_t without_target =
        std::ssize(sequence.documents) - (sequence.ends_document ? 0 : 1);
    batch.num_targets += layout.context - without_target;
    for (const std::int64_t length : sequence.documents)
        batch.attended_pairs += length * (length + 1) / 2;
}

}  // namespace

MicroBatch make_micro_batch(const Sample& sequence, const RankLayout& layout, Positions positions) {
    const DocumentLayout laid_out =
        place_documents(sequence.documents, layout.padded, layout.ring, positions);
    const std::vector<TokenRange> ranges = with_targets(sequence);
    MicroBatch batch = padding_only(layout);
    batch.runs = make_sequence_runs(laid_out, layout);
    std::size_t local = 0;
    for (const Piece& piece : local_pieces(laid_out, layout)) {
        if (piece.run.document == kPaddingDocument) break;  // it is last
        const TokenRange& range = ranges[usize(piece.run.document)];
        for (std::int64_t i = 0; i < piece.run.length; ++i, ++local) {
            const std::int64_t at = piece.first + i, in_document = at - range.first;
            batch.tokens[local] = sequence.tokens[usize(at)];
            if (in_document >= range.count) continue;
            batch.targets[local] = sequence.tokens[usize(at + 1)];
            batch.contexts[local] = static_cast<std::int32_t>(in_document + 1);
        }
    }
    return batch;
}

StepBatch make_step_batch(const std::vector<Sample>& sequences, const RankLayout& layout,
                          const Mesh& mesh, int rank, Positions positions) {
    const auto data = usize(mesh.size(Axis::data));
    const auto mine = usize(mesh.coord(rank, Axis::data));
    StepBatch batch;
    for (const Sample& sequence : sequences) {
        check(sequence, layout);
        count(sequence, layout, batch);
    }
    for (std::size_t first = 0; first < sequences.size(); first += data) {
        const std::size_t n = first + mine;
        if (n < sequences.size()) {
            batch.micro_batches.push_back(make_micro_batch(sequences[n], layout, positions));
        } else {
            batch.micro_batches.push_back(padding_only(layout));
            batch.micro_batches.back().runs = padding_runs(layout);
        }
    }
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
