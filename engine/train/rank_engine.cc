#include "engine/train/rank_engine.h"

#include <exception>

namespace rm {

RankEngine::RankEngine(Kernels& kernels, Transport& transport, ProgressPage& progress,
                       RankSpec spec)
    : spec_(std::move(spec)),
      transport_(transport),
      progress_(progress),
      compute_(kernels.device().make_stream("compute")),
      communication_(kernels.device().make_host_stream("communication")),
      host_(spec_.host == nullptr ? nullptr : kernels.device().make_host_stream("host optimizer")),
      communicator_(transport, kernels.device(), *communication_, spec_.mesh, progress.collectives),
      streams_{kernels, *compute_, *communication_, communicator_,
               host_ ? &host_side_.emplace(HostSide{*spec_.host, *host_}) : nullptr},
      state_(kernels, spec_.model, make_weight_share(spec_.mesh, spec_.rank, spec_.zero),
             spec_.moments.value_or(kernels.types().accum), spec_.host),
      weights_(streams_, spec_.model, state_) {}

RankEngine::~RankEngine() {
    if (std::uncaught_exceptions() > 0) transport_.abort("this rank has failed");
    for (Stream* stream : {compute_.get(), communication_.get(), host_.get()}) {
        if (stream == nullptr) continue;
        try {
            stream->synchronize();
        } catch (const std::exception&) {
            // Sticky; it has been thrown already.
        }
    }
}

Status RankEngine::enter(const StageShape& shape) {
    trainer_.reset();
    model_.reset();
    RM_TRY(layout_, make_rank_layout(shape.context, spec_.mesh, spec_.rank, shape.tile_tokens,
                                     shape.chunk_tokens));
    model_ = std::make_unique<Model>(streams_, spec_.model, weights_, *layout_, shape.rope);
    trainer_ = std::make_unique<Trainer>(streams_, state_, weights_, *model_, progress_);
    weights_.refresh(model_->ops());
    compute_->synchronize();
    return {};
}

}  // namespace rm
