#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/comm/staged_communicator.h"
#include "engine/streams/ops.h"
#include "engine/windows/token_store.h"
#include "kernels/ref/ref_kernels.h"
#include "tests/engine/windows/plain_arena.h"

namespace rm::test {

using Numbers = std::vector<double>;

inline void add_to(Numbers& sum, const Numbers& terms) {
    for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] += terms[i];
}

// One rank as the engine wires it for attention.
class AttentionRank {
public:
    AttentionRank(Transport& transport, const Mesh& mesh, const MemoryPolicy& policy,
                  std::unique_ptr<Kernels> backend = make_ref_kernels())
        : kernels(std::move(backend)),
          communicator(transport, kernels->device(), *communication, mesh, progress),
          memory(streams, arena, arena, policy) {
        memory.begin_pass();
    }

    // On the device, of one type; lives as long as the rank.
    const TensorView& tensor(const Numbers& numbers, DType dtype,
                             std::initializer_list<std::int64_t> shape) {
        const Tensor& made =
            tensors_.emplace_back(kernels->device(), MemoryKind::data, dtype, shape);
        if (dtype == DType::f64) {
            kernels->device().write(numbers.data(), made);
            return made.view();
        }
        Tensor exact(kernels->device(), MemoryKind::data, DType::f64, shape);
        kernels->device().write(numbers.data(), exact);
        ops(Copy{exact, made});
        compute->synchronize();
        return made.view();
    }
    const TensorView& tensor(const Numbers& numbers, const TensorView& like) {
        const DType dtype = like.dtype();
        if (like.rank() == 2) return tensor(numbers, dtype, {like.dim(0), like.dim(1)});
        return tensor(numbers, dtype, {like.dim(0), like.dim(1), like.dim(2)});
    }
    // After all work of the compute stream.
    Numbers read(const TensorView& x) {
        compute->synchronize();
        Numbers numbers(static_cast<std::size_t>(x.num_elements()));
        const TensorView& exact = tensor(numbers, DType::f64, {x.num_elements()});
        ops(Copy{x, exact});
        compute->synchronize();
        kernels->device().read(exact, numbers.data());
        return numbers;
    }

    // All rows of a store, through windows of some rows each.
    void fill(TokenStore& store, const Numbers& numbers) {
        const TensorView& source = tensor(numbers, store.shape());
        for_each_window(store, RowAccess::write, [&](const TensorView& rows, TokenRange range) {
            ops(Copy{at(source, range), rows});
        });
    }
    Numbers read(TokenStore& store) {
        const Numbers none(static_cast<std::size_t>(store.shape().num_elements()));
        const TensorView& seen = tensor(none, store.shape());
        for_each_window(store, RowAccess::read, [&](const TensorView& rows, TokenRange range) {
            ops(Copy{rows, at(seen, range)});
        });
        return read(seen);
    }

    // The end of a pass.
    void finish() {
        memory.end_pass();
        synchronize();
    }
    void synchronize() const {
        for (Stream* stream : {compute.get(), communication.get(), to_host.get(), from_host.get()})
            stream->synchronize();
    }

    std::unique_ptr<Kernels> kernels;
    PlainArena arena{kernels->device()};
    std::unique_ptr<Stream> compute = kernels->device().make_stream("compute");
    std::unique_ptr<Stream> communication = kernels->device().make_host_stream("communication");
    std::unique_ptr<Stream> to_host = kernels->device().make_stream("to-host");
    std::unique_ptr<Stream> from_host = kernels->device().make_stream("from-host");
    CommProgress progress;
    StagedCommunicator communicator;
    StreamOrder order;
    RankStreams streams{*kernels, *compute,   *communication, communicator,
                        *to_host, *from_host, order};
    StepMemory memory;
    Ops ops{*kernels, {}, *compute, &memory};

private:
    template <typename Work>
    void for_each_window(TokenStore& store, RowAccess access, Work work) {
        constexpr std::int64_t kMost = 24;
        const std::int64_t rows = store.shape().dim(0);
        std::vector<TokenRange> cut;
        for (std::int64_t first = 0; first < rows; first += kMost)
            cut.push_back({first, std::min(kMost, rows - first)});
        TokenWindow window(memory, store, visits(cut, access), kMost);
        WindowGroup group(memory, window);
        for (const TokenRange& range : cut) {
            group.open();
            work(window.rows(), range);
            group.close();
        }
    }

    std::list<Tensor> tensors_;
};

// Runs `body` with its transport on a thread for each rank of the mesh; expects no error.
inline void run_ranks(const Mesh& mesh, const std::function<void(Transport&, int rank)>& body,
                      LocalLinks links = {}) {
    const auto hub = make_local_hub(mesh.num_ranks(), links);
    std::vector<std::string> errors(static_cast<std::size_t>(mesh.num_ranks()));
    const auto run_rank = [&](int rank) {
        const auto index = static_cast<std::size_t>(rank);
        try {
            const auto transport = make_local_transport(hub, {.rank = rank,
                                                              .num_ranks = mesh.num_ranks(),
                                                              .peers = peers_of(mesh)[index],
                                                              .timeout = Seconds{30}});
            body(*transport, rank);
        } catch (const std::exception& error) {
            errors[index] = error.what();
        }
    };
    std::vector<std::thread> threads;
    for (int rank = 0; rank < mesh.num_ranks(); ++rank)
        threads.emplace_back(run_rank, rank);
    for (auto& thread : threads)
        thread.join();
    for (std::size_t rank = 0; rank < errors.size(); ++rank)
        EXPECT_EQ(errors[rank], "") << "rank " << rank;
}

}  // namespace rm::test
