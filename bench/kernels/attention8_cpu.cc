#include "bench/kernels/attention8_cpu.h"

#include <algorithm>
#include <iterator>

#include "base/usize.h"
#include "kernels/bf16.h"

namespace rm::bench {
namespace {

// The tensors of one head, and a stream.
class Bench {
public:
    Bench(Kernels& kernels, const AttentionInput& input)
        : kernels_(kernels),
          input_(input),
          stream_(kernels.device().make_stream("attention8")),
          q_(upload(input.q)),
          k_(upload(input.k)),
          v_(upload(input.v)),
          d_out_(upload(input.d_out)),
          out_(upload(input.q)),
          lse_(sums({T_, 1})) {}

    AttentionOnCpu run(AttentionPasses passes) {
        AttentionOnCpu all;
        const bool eight = passes.forward == AttentionProducts::eight_bit;
        eight ? forward<AttentionFwd8>() : forward<AttentionFwd>();
        all.result = {numbers<Bf16>(out_), numbers<float>(lse_)};
        const bool eight_back = passes.backward == AttentionProducts::eight_bit;
        const TensorView d_q = zeros({T_, 1, D_}), d_k = zeros({S_, 1, D_}),
                         d_v = zeros({S_, 1, D_});
        eight_back ? backward<AttentionBwd8>(d_q, d_k, d_v) : backward<AttentionBwd>(d_q, d_k, d_v);
        all.d_q = numbers<float>(d_q);
        all.d_k = numbers<float>(d_k);
        all.d_v = numbers<float>(d_v);
        return all;
    }

private:
    TensorView upload(const std::vector<float>& from) {
        const auto tokens = static_cast<std::int64_t>(from.size()) / D_;
        const Tensor& made =
            tensors_.emplace_back(kernels_.device(), MemoryKind::activations, DType::bf16,
                                  std::initializer_list{tokens, std::int64_t{1}, D_});
        std::vector<Bf16> narrow(from.size());
        std::transform(from.begin(), from.end(), narrow.begin(), to_bf16);
        kernels_.device().write(narrow.data(), made);
        return made;
    }
    TensorView sums(std::initializer_list<std::int64_t> shape) {
        return tensors_.emplace_back(kernels_.device(), MemoryKind::activations, DType::f32, shape);
    }
    TensorView zeros(std::initializer_list<std::int64_t> shape) {
        const TensorView made = sums(shape);
        kernels_.run(FillZero{made}, *stream_);
        return made;
    }
    template <typename T>
    std::vector<double> numbers(const TensorView& x) {
        stream_->synchronize();
        std::vector<double> read;
        for (std::int64_t i = 0; i < x.num_elements(); ++i) {
            if constexpr (std::is_same_v<T, Bf16>) {
                read.push_back(from_bf16(x.as<Bf16>()[i]));
            } else {
                read.push_back(x.as<T>()[i]);
            }
        }
        return read;
    }
    template <typename Op>
    void run_op(const Op& op) {
        const Bytes size = kernels_.workspace_bytes(op);
        const Buffer workspace = kernels_.device().allocate(size, MemoryKind::workspace);
        kernels_.run(op, {workspace.data(), size}, *stream_);
        stream_->synchronize();
    }
    template <typename Op>
    void forward() {
        const AttentionState state{sums({T_, 1, D_}), sums({T_, 1}), sums({T_, 1})};
        kernels_.run(AttentionBegin{state}, *stream_);
        run_op(Op{state, q_, k_, v_, q_runs_, kv_runs_, input_.scale()});
        kernels_.run(AttentionFinish{state, out_, lse_}, *stream_);
    }
    template <typename Op>
    void backward(const TensorView& d_q, const TensorView& d_k, const TensorView& d_v) {
        const TensorView delta = sums({T_, 1});
        kernels_.run(AttentionDelta{d_out_, out_, delta}, *stream_);
        run_op(
            Op{q_, k_, v_, d_out_, lse_, delta, q_runs_, kv_runs_, input_.scale(), d_q, d_k, d_v});
    }

    Kernels& kernels_;
    const AttentionInput& input_;
    const std::int64_t D_ = input_.D, T_ = input_.num_queries(), S_ = input_.num_keys();
    const std::vector<Run> q_runs_ = {{0, S_ - T_, T_}}, kv_runs_ = {{0, 0, S_}};
    std::vector<Tensor> tensors_;
    std::unique_ptr<Stream> stream_;
    TensorView q_, k_, v_, d_out_, out_, lse_;
};

}  // namespace

AttentionOnCpu on_cpu(Kernels& kernels, const AttentionInput& input, AttentionPasses passes) {
    return Bench(kernels, input).run(passes);
}

}  // namespace rm::bench
