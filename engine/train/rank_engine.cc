#include "engine/train/rank_engine.h"

#include <exception>

#include "engine/train/dry_rank.h"

namespace rm {
namespace {

WeightShare share_of(const RankSpec& spec) {
    WeightShare share = make_weight_share(spec.mesh, spec.rank, spec.zero);
    share.vocabulary_block = spec.vocabulary_block;
    return share;
}

}  // namespace

RankEngine::RankEngine(Kernels& kernels, Network& network, ProgressPage& progress, RankSpec spec)
    : spec_(std::move(spec)),
      network_(network),
      progress_(progress),
      compute_(kernels.device().make_stream("compute")),
      communication_(network.make_stream(kernels.device())),
      to_host_(kernels.device().make_stream("to-host")),
      from_host_(kernels.device().make_stream("from-host")),
      host_(spec_.host == nullptr ? nullptr : kernels.device().make_host_stream("host optimizer")),
      communicator_(network.make_communicator(kernels.device(), *communication_, spec_.mesh,
                                              progress.collectives)),
      streams_{
          kernels,         *compute_,
          *communication_, *communicator_,
          *to_host_,       *from_host_,
          order_,          host_ ? &host_side_.emplace(HostSide{*spec_.host, *host_}) : nullptr},
      state_(kernels, spec_.model, share_of(spec_), spec_.types, spec_.host),
      weights_(streams_, spec_.model, state_, spec_.linears) {}

RankEngine::~RankEngine() {
    if (std::uncaught_exceptions() > 0) network_.abort("this rank has failed");
    for (Stream* stream :
         {compute_.get(), communication_.get(), to_host_.get(), from_host_.get(), host_.get()}) {
        if (stream == nullptr) continue;
        try {
            stream->synchronize();
        } catch (const std::exception&) {
            // Sticky; it has been thrown already.
        }
    }
}

// Ends the stage, if there is one: the last step's update on the host may still read what it owns.
void RankEngine::leave() {
    if (model_ == nullptr) return;
    weights_.finish_update();
    compute_->synchronize();
    order_.joined(*compute_);
    trainer_.reset();
    model_.reset();
    decoding_.reset();
    passes_.reset();
}

Status RankEngine::enter(const StageShape& shape) {
    leave();
    RM_TRY(StageArenas arenas, plan_arenas(spec_, shape, streams_.kernels));
    passes_ = std::make_unique<PlannedPasses>(streams_.kernels.device(), std::move(arenas));
    return enter(shape, *passes_);
}

Status RankEngine::enter(const StageShape& shape, PassMemory& passes) {
    leave();
    RM_TRY(layout_, make_rank_layout(shape.context, spec_.mesh, spec_.rank, shape.memory));
    if (shape.sample) sample_chunks(*layout_, *shape.sample);
    if (shape.ring_sample) sample_ring(*layout_, *shape.ring_sample);
    weights_.leave_fallback();
    make_models(shape, passes);
    trainer_ = std::make_unique<Trainer>(streams_, state_, weights_, *model_, progress_);
    weights_.refresh(model_->ops());
    compute_->synchronize();
    order_.joined(*compute_);
    return {};
}

void RankEngine::make_models(const StageShape& shape, PassMemory& passes) {
    const std::int64_t context = shape.rope_context > 0 ? shape.rope_context : shape.context;
    const auto make = [&](const RankLayout& layout, CacheLink cache) {
        return std::make_unique<Model>(streams_, spec_.model, weights_, layout,
                                       rope_frequencies(shape.rope, spec_.model.head_dim, context),
                                       ModelRounding{spec_.attention, spec_.messages}, passes,
                                       cache);
    };
    if (shape.new_tokens == 0) {
        model_ = make(*layout_, {});
        return;
    }
    decoding_ = std::make_unique<Decoding>(
        Decoding{make_decode_layout(*layout_),
                 KvCache(streams_.kernels, spec_.model, *layout_, shape.new_tokens), nullptr});
    model_ = make(*layout_, {&decoding_->cache, CacheUse::fill});
    decoding_->model = make(decoding_->layout, {&decoding_->cache, CacheUse::extend});
}

const StageArenas& RankEngine::arenas() const {
    RM_CHECK(passes_ != nullptr, "a stage whose arenas the caller owns");
    return passes_->plan();
}

}  // namespace rm
