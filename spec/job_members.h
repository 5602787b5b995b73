#pragma once

#include "spec/evaluation/suite_members.h"
#include "spec/job_spec.h"
#include "spec/member.h"

// The members of a job, for every form that it takes: see member.h. The structured bindings are
// deliberate: a structure with a new member does not compile until the member is described here.
namespace rm {

template <typename Visit>
void describe(Visit& visit, Like<ModelSpec> auto& model) {
    auto& [preset, from] = model;
    visit(Member{.name = "preset",
                 .help = "fresh weights: `micro`, `mini`, `tiny` (small models for CPUs), "
                         "`llama2-7b`, `llama3-8b`, "
                         "`llama3-70b`"},
          preset);
    visit(Member{.name = "from",
                 .help = "instead of a preset: a [Hugging Face directory](huggingface.md), its "
                         "architecture and weights",
                 .written = Written::path},
          from);
}

template <typename Visit>
void describe(Visit& visit, Like<DataSpec> auto& data) {
    auto& [sources, format, tokenizer, holdout, documents, positions] = data;
    visit(Member{.name = "path",
                 .help = "a directory or one file; or a list of them, each `path` or "
                         "`path@proportion` ([data.md](data.md)); a job without steps and with "
                         "`evaluate.tokens: 0` needs none",
                 .written = Written::path,
                 .stored = "sources"},
          sources);
    visit(Member{.name = "format", .help = "`auto`, `text`, `jsonl`, `megatron`, `llmc`, `mds`"},
          format);
    visit(
        Member{.name = "tokenizer",
               .help = "`bytes`, or the path of a `tokenizer.json` ([tokenizer.md](tokenizer.md))",
               .written = Written::bytes_or_path},
        tokenizer);
    visit(Member{.name = "holdout", .help = "share of the data kept for evaluation, 0 to 0.5"},
          holdout);
    visit(
        Member{.name = "documents",
               .help =
                   "`joined`: a sequence is one text, whatever documents it is made of; "
                   "`separate`: documents of a sequence do not see each other, and none is trained "
                   "to predict the first token of the next"},
        documents);
    visit(Member{.name = "positions",
                 .help =
                     "of separate documents: `reset`, counted from 0 in each, or `running` through "
                     "the sequence"},
          positions);
}

template <typename Visit>
void describe(Visit& visit, Like<StageSpec> auto& stage) {
    auto& [context, batch, tokens, rope_theta, rate, warmup, schedule, final_rate, rope,
           rope_factor, optimizer] = stage;
    visit(Member{.name = "context",
                 .help = "tokens of one sequence",
                 .written = Written::tokens,
                 .presence = Presence::required},
          context);
    visit(Member{.name = "batch",
                 .help =
                     "tokens per optimizer step, a multiple of the context; the same on every mesh",
                 .written = Written::tokens,
                 .presence = Presence::required},
          batch);
    visit(Member{.name = "tokens",
                 .help =
                     "the stage's budget, rounded to the nearest whole step, at least one; `0`, in "
                     "a single stage: the job trains nothing and only evaluates",
                 .written = Written::budget,
                 .presence = Presence::required},
          tokens);
    visit(
        Member{.name = "rope_theta",
               .help = "base of the rotary embedding, or `auto`: the model's base times s^(D / (D "
                       "- 2)), for a context s times the pretrained one (NTK)",
               .written = Written::number_or_auto,
               .absent = "the model's"},
        rope_theta);
    visit(Member{.name = "learning_rate", .help = "at the end of warm-up"}, rate);
    visit(
        Member{
            .name = "warmup", .help = "steps from 0 to `learning_rate`", .written = Written::steps},
        warmup);
    visit(Member{.name = "schedule", .help = "`constant`, `cosine`, `linear`"}, schedule);
    visit(Member{.name = "final_learning_rate", .help = "where `cosine` and `linear` end"},
          final_rate);
    visit(Member{.name = "rope",
                 .help = "how positions are stretched: `model`: as the model's; `default`: not at "
                         "all; `linear`: by interpolation; `yarn`"},
          rope);
    visit(Member{.name = "rope_factor",
                 .help = "of `linear` and `yarn`",
                 .absent = "the context by the pretrained one"},
          rope_factor);
    visit(Member{.name = "optimizer",
                 .help = "`continue` from the stage before, or `anew`: moments of 0 and a first "
                         "step"},
          optimizer);
}

// The members of a MemorySpec that say what is kept for the backward pass, and where.
template <typename Visit>
void describe_kept(Visit& visit, auto& keep, auto& alpha, auto& offload, auto& windows,
                   auto& keep_every, auto& keep_precision) {
    visit(Member{.name = "keep",
                 .help = "what of a layer's attention is kept for its backward pass besides its "
                         "input: `input`: nothing, attention is recomputed; `input+attention`: its "
                         "output; or `auto`",
                 .absent = "`auto`: `input+attention`",
                 .automatic = true},
          keep);
    visit(Member{.name = "alpha",
                 .help = "share of the tiles whose other activations are kept, 0 to 1, or `auto`; "
                         "those of the rest are computed again",
                 .absent = "`auto`: 1",
                 .automatic = true},
          alpha);
    visit(Member{.name = "offload",
                 .help = "`on`: what is kept between the passes lies on the host; `off`: on the "
                         "device; or `auto`",
                 .absent = "`auto`: `off`, and `on` with windows",
                 .automatic = true},
          offload);
    visit(
        Member{.name = "windows",
               .help =
                   "`on`: a layer works on windows of a chunk, the rest of its tokens lies on the "
                   "host; `off`: on all its tokens at once; or `auto`",
               .absent = "`auto`: `off`",
               .automatic = true},
        windows);
    visit(Member{.name = "keep_every",
                 .help = "layers, 1 to 64: with `k` only the inputs of layers 0, k, 2k, ... are "
                         "kept; the backward pass runs the forward passes of the layers between "
                         "again, a group at a time; or `auto`",
                 .absent = "`auto`: 1; more where nothing else is within the limits",
                 .automatic = true},
          keep_every);
    visit(Member{.name = "keep_precision",
                 .help = "the type in which kept inputs of layers lie on the host: `compute`, "
                         "`bf16`, or `fp8` (e4m3 with a factor for each token). The forward pass "
                         "works with what was not rounded, the backward pass with what was"},
          keep_precision);
}

template <typename Visit>
void describe(Visit& visit, Like<MemorySpec> auto& memory) {
    auto& [tile, chunk, keep, alpha, offload, windows, keep_every, keep_precision, prefetch, arena,
           device, host] = memory;
    visit(Member{.name = "tile",
                 .help = "a multiple of 64 tokens, or `auto`",
                 .written = Written::tokens,
                 .absent = "`auto`: 512; up to 32,768 where the speeds of the devices are known",
                 .automatic = true},
          tile);
    visit(Member{.name = "chunk",
                 .help = "a multiple of the tile, or `auto`",
                 .written = Written::tokens,
                 .absent = "`auto`: 4,096 tokens in whole tiles, at least one",
                 .automatic = true},
          chunk);
    describe_kept(visit, keep, alpha, offload, windows, keep_every, keep_precision);
    visit(Member{.name = "prefetch",
                 .help = "chunks that are brought from the host before they are needed, 0 to 4"},
          prefetch);
    visit(Member{.name = "arena",
                 .help = "`reuse`: buffers of a step that do not live together share bytes; "
                         "`separate`: none do"},
          arena);
    visit(Member{.name = "device",
                 .help = "a size: the most that a rank may take of its device: weights, gradients, "
                         "moments, gather buffers and the arena of a step together",
                 .absent = "no limit"},
          device);
    visit(Member{.name = "host",
                 .help = "a size: the most page-locked memory that a rank may take of the host: "
                         "what is kept there, and the state with `optimizer.place: host`",
                 .absent = "no limit"},
          host);
}

// A resolved MemorySpec.
template <typename Visit>
void describe(Visit& visit, Like<MemoryPolicy> auto& policy) {
    auto& [tile, chunk, keep, alpha, kept, keep_every, keep_precision, working, prefetch, reuse,
           device, host] = policy;
    visit(Member{.name = "tile_tokens"}, tile);
    visit(Member{.name = "chunk_tokens"}, chunk);
    visit(Member{.name = "keep"}, keep);
    visit(Member{.name = "alpha"}, alpha);
    visit(Member{.name = "kept"}, kept);
    visit(Member{.name = "keep_every"}, keep_every);
    visit(Member{.name = "keep_precision"}, keep_precision);
    visit(Member{.name = "working"}, working);
    visit(Member{.name = "prefetch"}, prefetch);
    visit(Member{.name = "arena"}, reuse);
    visit(Member{.name = "device_bytes", .stored = "device"}, device);
    visit(Member{.name = "host_bytes", .stored = "host"}, host);
}

template <typename Visit>
void describe(Visit& visit, Like<OptimizerSpec> auto& optimizer) {
    auto& [beta1, beta2, eps, weight_decay, clip_norm, place, moments, gradients, max_skipped,
           divergence] = optimizer;
    visit(Member{.name = "beta1", .help = "in [0, 1)"}, beta1);
    visit(Member{.name = "beta2", .help = "in [0, 1)"}, beta2);
    visit(Member{.name = "eps", .help = "positive"}, eps);
    visit(Member{.name = "weight_decay", .help = "from 0"}, weight_decay);
    visit(Member{.name = "clip_norm", .help = "largest norm of the whole gradient; 0 never clips"},
          clip_norm);
    visit(
        Member{.name = "place",
               .help = "where master weights, moments and gradient sums are and the update runs: "
                       "`device`, or `host`: in page-locked host memory, on the CPU, so that a GPU "
                       "holds weights in the compute type only and the update runs beside the next "
                       "step's forward; gradients are sharded then as from ZeRO stage 2 on"},
        place);
    visit(Member{.name = "moments",
                 .help = "how the two moments are kept: `fp32`, or `bf16`, rounded stochastically"},
          moments);
    visit(Member{.name = "gradients",
                 .help = "how gradients are summed over ranks and kept: `fp32`, or `bf16`: each "
                         "rank sums those of its tokens in fp32 and rounds them once; they are "
                         "sharded then as from ZeRO stage 2 on"},
          gradients);
    visit(Member{.name = "max_skipped",
                 .help = "how many updates in a row may be skipped because the gradient is not "
                         "finite: after that many the job fails, from 1"},
          max_skipped);
    visit(Member{.name = "divergence",
                 .help = "where the loss leaves the range of a model that learns: `warn` and go "
                         "on, or `stop`: the job fails, and earlier checkpoints are left"},
          divergence);
}

template <typename Visit>
void describe(Visit& visit, Like<ResourcesSpec> auto& resources) {
    auto& [devices, kind, placement, max_cost] = resources;
    visit(Member{.name = "devices",
                 .help = "a whole number; must be the mesh's size when both are given",
                 .absent = "the mesh's size"},
          devices);
    visit(
        Member{.name = "kind",
               .help = "`cpu` or a GPU's name; `submit` warns of one that no node has ever offered",
               .absent = "any one kind"},
        kind);
    visit(
        Member{
            .name = "placement",
            .help =
                "a list with the device of each rank, `NODE:NUMBER` or `NODE` for its first: `[n3, "
                "n0:1]`. The job runs there, in this order, and waits until all of them are free",
            .absent = "the scheduler's choice, [by measured links](../survey.md)"},
        placement);
    visit(Member{.name = "max_cost_usd",
                 .help = "the most that the plan of the whole job may cost in US dollars, by "
                         "[the controller's prices](prices.md): the job is refused where its "
                         "fastest plan costs more, and once its attempts have cost as much, the "
                         "running one is stopped with a checkpoint and the job fails. A continued "
                         "job counts anew. 0: no limit",
                 .absent = "no limit"},
          max_cost);
}

template <typename Visit>
void describe(Visit& visit, Like<CheckpointSpec> auto& checkpoint) {
    auto& [dir, every_steps, keep, from, every] = checkpoint;
    visit(Member{.name = "dir",
                 .help = "a directory",
                 .written = Written::path,
                 .absent = "below the cluster's state directory"},
          dir);
    visit.interval(
        Member{.name = "every",
               .help =
                   "steps (`50 steps`), a time (`10 min`, `1 hour`) or `never`: only at the end "
                   "and when the job is stopped. By time, rank 0 asks for a checkpoint after the "
                   "last step whose end still lies within it, so a failure costs at most that "
                   "much training and the time that writing the next checkpoint takes"},
        every_steps, every);
    visit(Member{.name = "keep",
                 .help = "how many are kept, from 1. The oldest goes when a new one is whole, so "
                         "the disk needs room for `keep + 1`"},
          keep);
    visit(Member{.name = "from",
                 .help = "the directory of a checkpoint, of whatever job with the same model, seed "
                         "and data, or a directory of such checkpoints, the newest whole one of "
                         "which is taken: weights, position and order of the data continue from "
                         "there while this job has none of its own.",
                 .written = Written::path,
                 .absent = "start from the seed or `model.from`"},
          from);
}

template <typename Visit>
void describe(Visit& visit, Like<EvaluationSpec> auto& evaluation) {
    auto& [every_steps, tokens, suites, prompts] = evaluation;
    visit(Member{.name = "every",
                 .help = "steps",
                 .written = Written::steps,
                 .absent = "only at the end"},
          every_steps);
    visit(Member{.name = "tokens",
                 .help = "held-out tokens per evaluation, at most",
                 .written = Written::budget},
          tokens);
    visit(Member{.name = "suites",
                 .help = "a list of examinations, each with the keys [below](#evaluatesuites)",
                 .absent = "none"},
          suites);
    visit(
        Member{.name = "prompts",
               .help = "a list of texts that each evaluation continues, as notes of the job, each "
                       "with the keys [below](#evaluateprompts)",
               .absent = "none"},
        prompts);
}

template <typename Visit>
void describe(Visit& visit, Like<ExportSpec> auto& exports) {
    auto& [huggingface] = exports;
    visit(Member{.name = "huggingface",
                 .help = "a directory for the trained model, made or replaced after the last step",
                 .written = Written::path,
                 .presence = Presence::required,
                 .absent = "none"},
          huggingface);
}

template <typename Visit>
void describe(Visit& visit, Like<RetrySpec> auto& retry) {
    auto& [max, lost_after] = retry;
    visit(Member{.name = "max",
                 .help =
                     "further attempts after failures that may not happen again, counted since the "
                     "last attempt that wrote a further checkpoint; the wait before one starts "
                     "over with the count. Too little memory (a limit, a refused allocation, a "
                     "rank that the kernel killed for lack of memory) is not tried again, nor is "
                     "bad input: a job that asks for what cannot be, tokens beyond the vocabulary, "
                     "a run that diverges. Files that one node alone misses, cannot read or finds "
                     "damaged before training are looked for once on other nodes. Attempts that "
                     "end because a node is drained or a worker is stopped are not counted"},
          max);
    visit(
        Member{.name = "lost_after",
               .help =
                   "a duration such as `30 min`: an attempt whose workers report no progress for "
                   "this long is lost, and tried again elsewhere. The limit applies where nothing "
                   "else is known, as for a job on one node that cannot be reached: it may be "
                   "training. An attempt with ranks that have visibly failed or stalled ends one "
                   "minute after the nodes of the others fall silent"},
        lost_after);
}

template <typename Visit>
void describe(Visit& visit, Like<Fp8Spec> auto& fp8) {
    auto& [recipe, gradients, bf16_layers, fallback_steps, saturated, flushed] = fp8;
    visit(Member{.name = "recipe",
                 .help = "`tensorwise`: each tensor that a product takes is scaled by its own "
                         "largest number; `delayed`: activations and gradients by the largest of "
                         "the last 16 steps, on all ranks; `blockwise`: each 1 x 128 numbers of "
                         "activations and gradients, and 128 x 128 of weights, by their own"},
          recipe);
    visit(Member{.name = "gradients",
                 .help = "`e5m2`, or `e4m3`, which is finer and reaches less far; weights and "
                         "activations are e4m3"},
          gradients);
    visit(Member{.name = "bf16_layers",
                 .help = "so many layers at each end of the model stay in bf16, as do embedding, "
                         "norms and head"},
          bf16_layers);
    visit(
        Member{.name = "fallback_steps",
               .help = "a layer with a tensor that FP8 does not hold, by the limits below, "
                       "computes in bf16 for so many steps; 0: the run ends and names the tensor"},
        fallback_steps);
    visit(Member{.name = "max_saturated",
                 .help = "the largest share of a tensor's numbers that may be too large for their "
                         "scale in a step; 1: no limit"},
          saturated);
    visit(Member{.name = "max_flushed",
                 .help = "the largest share of a tensor's numbers that may become 0; 1: no limit"},
          flushed);
}

template <typename Visit>
void describe(Visit& visit, Like<MessageSpec> auto& messages) {
    auto& [ulysses, tensor] = messages;
    visit(Member{.name = "ulysses",
                 .help = "the numbers of heads that the ranks of a ulysses group send each other, "
                         "and of their gradients: `compute`, or `fp8`: [codes and a factor for "
                         "each token and head](../numerics.md)"},
          ulysses);
    visit(Member{.name = "tensor",
                 .help = "the numbers of tiles that the ranks of a tensor group gather in layers: "
                         "`compute`, or `fp8`: codes and a factor for each token"},
          tensor);
}

template <typename Visit>
void describe_network(Visit& visit, auto& network, auto& reproducible) {
    visit(
        Member{.name = "network",
               .help = "how ranks reach each other: `nccl`, from GPU to GPU; `gloo`, over TCP and "
                       "through host memory; or `auto`",
               .absent = "`auto`: `nccl` between GPUs whose nodes have one version of it, "
                         "`gloo` otherwise",
               .automatic = true},
        network);
    visit(Member{.name = "reproducible",
                 .help = "`on`: NCCL keeps to one algorithm and one protocol, "
                         "[for the same sums](../communication.md) on the same mesh and network; "
                         "`off`: it chooses by size. With `gloo` sums are always the same"},
          reproducible);
}

template <typename Visit>
void describe(Visit& visit, Like<JobSpec> auto& job) {
    auto& [name, model, data, seed, stages, parallel, zero, memory, precision, fp8, attention,
           messages, optimizer, resources, network, reproducible, checkpoint, evaluation, exports,
           retry, priority, tags, note] = job;
    visit(Member{.name = "name",
                 .help = "1 to 63 letters, digits, `-`, `_`, `.`",
                 .presence = Presence::required},
          name);
    visit(Member{.name = "model", .presence = Presence::required}, model);
    visit(Member{.name = "data"}, data);
    visit(Member{.name = "seed", .help = "0 to 2^64 - 1: weights and the order of documents"},
          seed);
    visit(Member{.name = "stages", .presence = Presence::required}, stages);
    visit.mesh(Member{.name = "parallel",
                      .help = "`auto`, or the mesh and the ZeRO stage, [below](#parallel)",
                      .absent = "`auto`",
                      .automatic = true},
               parallel, zero);
    visit(Member{.name = "memory",
                 .help = "`auto`, or how a step uses memory, [below](#memory)",
                 .absent = "`auto`",
                 .automatic = true},
          memory);
    visit(Member{.name = "precision",
                 .help = "of compute: `fp32`, `bf16`, or `fp8`: [linear layers in "
                         "FP8](../numerics.md), all else in bf16; weights and sums are fp32"},
          precision);
    visit(Member{.name = "fp8"}, fp8);
    visit(Member{.name = "attention",
                 .help = "the numbers that its forward products multiply: `compute`, or `8bit`: "
                         "[queries and keys in int8, probabilities and values in e4m3]"
                         "(../numerics.md)"},
          attention);
    visit(Member{.name = "messages"}, messages);
    visit(Member{.name = "optimizer"}, optimizer);
    visit(Member{.name = "resources"}, resources);
    describe_network(visit, network, reproducible);
    visit(Member{.name = "checkpoint"}, checkpoint);
    visit(Member{.name = "evaluate", .stored = "evaluation"}, evaluation);
    visit(Member{.name = "export"}, exports);
    visit(Member{.name = "retry"}, retry);
    visit(
        Member{.name = "priority",
               .help = "a whole number, at most 100 but for admins; higher is served first, among "
                       "equals the older. A job that needs more devices than are free lets later "
                       "ones pass for an hour, whatever their priority; then what becomes free is "
                       "kept for it (`ringmaster-controller --max-bypass` sets the hour)"},
        priority);
    visit(Member{.name = "tags",
                 .help = "a list of words, for `history --tag`: letters, digits, `-`, `_`, `.`",
                 .absent = "none"},
          tags);
    visit(Member{.name = "note", .help = "what the job is for, shown with it", .absent = "none"},
          note);
}

}  // namespace rm
