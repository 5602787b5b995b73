#include <algorithm>
#include <iterator>

#include "service/job_file/yaml_fields.h"

namespace rm {
namespace {

// Keys of torchtitan, Axolotl, Megatron, DeepSpeed and Hugging Face, each list between blanks.
struct Foreign {
    std::string_view keys;
    std::string_view sentence;
};

constexpr Foreign kForeign[] = {
    {" lr learning_rate max_lr base_lr ", "the learning rate is `learning_rate` of a stage"},
    {" min_lr lr_min final_lr ", "the last learning rate is `final_learning_rate` of a stage"},
    {" lr_scheduler lr_scheduler_type scheduler lr_schedule decay schedule ",
     "the learning rate's course is `schedule` of a stage"},
    {" warmup warmup_steps lr_warmup_steps warmup_ratio num_warmup_steps ",
     "the warm-up is `warmup` of a stage, such as '100 steps'"},
    {" cp context_parallel context_parallel_size context_parallel_degree sp sequence_parallel "
     "sequence_parallel_size ring_attention ",
     "a sequence is cut over ranks with `parallel: {ring: N}` (or `ulysses`)"},
    {" tp tensor_parallel tensor_parallel_size tensor_parallel_degree tensor_model_parallel_size ",
     "weights are cut over ranks with `parallel: {tensor: N}`"},
    {" dp ddp data_parallel data_parallel_size data_parallel_degree replicas ",
     "data parallelism is `parallel: {data: N}`"},
    {" fsdp zero zero_stage zero_optimization sharding shard deepspeed ",
     "state is sharded with `parallel: {zero: 1}`, 2 or 3"},
    {" pp pipeline_parallel pipeline_parallel_size pipeline_parallel_degree ",
     "there is no pipeline parallelism; `parallel: {tensor: N}` and `memory: {offload: on}` make "
     "large models fit"},
    {" steps max_steps num_steps train_steps total_steps train_iters max_iters ",
     "how long a stage trains is its `tokens`: steps times its `batch`"},
    {" epochs epoch num_epochs num_train_epochs max_epochs ",
     "how long a stage trains is its `tokens`: epochs times the tokens of the data"},
    {" gpus num_gpus n_gpus ngpus nproc nproc_per_node world_size nodes nnodes num_nodes devices ",
     "the number of devices is `resources: {devices: N}`"},
    {" wandb tensorboard mlflow comet logging report_to log_every logging_steps ",
     "nothing has to be set for this: `ringmaster follow` and `top` show the steps of a running "
     "job, `history` the last of each attempt, and /metrics has them for Prometheus"},
    {" gradient_accumulation gradient_accumulation_steps grad_accum accumulate_grad_batches ",
     "`batch` of a stage counts all tokens of a step; how it is cut into passes is worked out"},
    {" micro_batch micro_batch_size batch_size global_batch_size train_batch_size "
     "per_device_train_batch_size local_batch_size ",
     "`batch` of a stage is all tokens of a step: sequences times `context`"},
    {" seq_len seqlen seq_length sequence_length sequence_len max_seq_len max_seq_length "
     "max_length block_size context_length context context_window ",
     "the length of a sequence is `context` of a stage"},
    {" tokens batch rope_theta final_learning_rate ", "this is a key of a stage"},
    {" rope_base rope_scaling rope_freq_base ", "RoPE's base is `rope_theta` of a stage"},
    {" weight_decay beta1 beta2 betas adam_beta1 adam_beta2 adam_eps eps ",
     "AdamW's values are `optimizer: {beta1, beta2, eps, weight_decay}`"},
    {" optim optimizer_type adamw ", "the optimizer is AdamW; `optimizer` has its values"},
    {" clip grad_clip clip_grad max_grad_norm gradient_clipping clip_norm ",
     "gradients are clipped at `optimizer: {clip_norm: N}`"},
    {" dtype bf16 fp16 amp mixed_precision torch_dtype ", "the type of compute is `precision`"},
    {" dataset datasets data_path train_data train_file corpus path ",
     "the training data is `data: {path: ...}`"},
    {" tokenizer tokenizer_path tokenizer_name ", "the tokenizer is `data: {tokenizer: ...}`"},
    {" val_data validation_split val_set_size valid_data holdout ",
     "the validation part of the data is `data: {holdout: 0.02}`"},
    {" base_model model_name model_name_or_path model_path pretrained hf_model ",
     "a model's directory is `model: {from: DIR}`"},
    {" output_dir save_dir checkpoint_dir ckpt_dir save ",
     "checkpoints go to `checkpoint: {dir: ...}`"},
    {" save_steps save_interval save_every checkpoint_interval checkpoint_every ",
     "how often a checkpoint is written is `checkpoint: {every: ...}`"},
    {" save_total_limit keep ", "how many checkpoints stay is `checkpoint: {keep: N}`"},
    {" resume resume_from resume_from_checkpoint load ",
     "a checkpoint to start from is `checkpoint: {from: ...}`, or `submit --from`"},
    {" eval_steps eval_interval eval_every eval_freq validation ",
     "how often the validation loss is measured is `evaluate: {every: '100 steps'}`"},
    {" activation_checkpointing gradient_checkpointing recompute selective_ac ",
     "what is kept for the backward pass is `memory: {keep: ...}`"},
    {" offload cpu_offload offload_optimizer ",
     "state moves to host memory with `memory: {offload: "
     "on}`"},
    {" max_retries retries restarts max_restarts ",
     "failed attempts are retried `retry: {max: N}` "
     "times"},
    {" random_seed rng_seed ", "the seed is `seed`"},
    {" partition queue account qos ", "the order of the queue is `priority`"},
    {" job_name run_name experiment_name project ", "the job's name is `name`"},
};

}  // namespace

std::optional<std::string> foreign_key(std::string_view key) {
    const std::string word = " " + std::string(key) + " ";
    const auto found =
        std::find_if(std::begin(kForeign), std::end(kForeign), [&word](const Foreign& foreign) {
            return foreign.keys.find(word) != std::string_view::npos;
        });
    if (found == std::end(kForeign)) return std::nullopt;
    return std::string(found->sentence);
}

}  // namespace rm
