#include "engine/train/save/checkpoint_export.h"

#include <algorithm>
#include <filesystem>

#include "engine/checkpoint/directory.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBlockElements = std::int64_t{2} << 20;
constexpr std::string_view kNone = "none";

bool exists(const std::string& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

// A model without its tokenizer is of no use, unless the user knows better.
Status choose_tokenizer(const CheckpointExport& options, HfExport& hf) {
    if (!options.tokenizer.empty()) hf.tokenizer = options.tokenizer;
    if (hf.tokenizer == kNone) hf.tokenizer.clear();
    if (hf.tokenizer.empty() || hf.tokenizer == "bytes" || exists(hf.tokenizer)) return {};
    return make_error(ErrorCode::failed_precondition,
                      "the model was trained with the tokenizer {}, which is not here: name it "
                      "where it is, or 'none' for weights without a tokenizer",
                      hf.tokenizer);
}

Status choose_base(const CheckpointExport& options, HfExport& hf, std::vector<std::string>& notes) {
    if (!options.base.empty()) hf.source = options.base;
    if (hf.source == kNone) hf.source.clear();
    if (hf.source.empty() || exists(hf.source)) return {};
    if (!options.base.empty()) {
        return make_error(ErrorCode::not_found, "there is no directory {}", hf.source);
    }
    notes.push_back(
        format("{}, which the model started from, is not here: its other files (licence, "
               "generation settings) are left out",
               hf.source));
    hf.source.clear();
    return {};
}

}  // namespace

CheckpointWeights::CheckpointWeights(const Checkpoint& checkpoint, const ModelConfig& model,
                                     CheckpointReader::Options options)
    : checkpoint_(checkpoint), reader_(checkpoint, options), table_(make_parameters(model)) {}

Status CheckpointWeights::read(int parameter, const Visitor& visit) {
    const Parameter& p = table_.all[usize(parameter)];
    const auto stored = checkpoint_.tensors().find(p.name);
    if (stored == checkpoint_.tensors().end()) {
        return make_error(ErrorCode::not_found, "{} has no tensor {}", checkpoint_.path(), p.name);
    }
    const DType dtype = stored->second.dtype == DType::f64 ? DType::f64 : DType::f32;
    const Slice whole = whole_tensor(p.name, dtype, p.shape);
    for (std::int64_t first = 0; first < whole.count; first += kBlockElements) {
        const Slice piece =
            element_range(whole, first, std::min(kBlockElements, whole.count - first));
        block_.resize(usize(num_bytes(piece)));
        RM_RETURN_IF_ERROR(reader_.read(piece, block_));
        RM_RETURN_IF_ERROR(visit(first, {block_.data(), dtype, {piece.count}}));
    }
    return {};
}

Result<ExportedCheckpoint> export_checkpoint(const CheckpointExport& options, Activity& activity,
                                             Faults& faults) {
    ExportedCheckpoint exported;
    RM_TRY(const Checkpoint checkpoint, open_newest(options.checkpoint, exported.notes));
    exported.checkpoint = checkpoint.path();
    const auto trained = trained_model_of(checkpoint.state());
    if (!trained) return within(checkpoint.path(), trained.error());
    HfExport hf = export_of(*trained, options.path);
    hf.dtype = options.dtype.value_or(hf.dtype);
    hf.epoch = checkpoint.name().epoch;
    RM_RETURN_IF_ERROR(choose_tokenizer(options, hf));
    RM_RETURN_IF_ERROR(choose_base(options, hf, exported.notes));
    exported.dtype = hf.dtype;
    exported.num_parameters = trained->model.num_parameters();
    CheckpointWeights weights(checkpoint, trained->model, {&activity, &faults});
    RM_TRY(const StagedExport staged, stage_hf(hf, trained->model, weights, faults));
    RM_RETURN_IF_ERROR(publish_hf(staged, hf.epoch, faults));
    return exported;
}

}  // namespace rm
