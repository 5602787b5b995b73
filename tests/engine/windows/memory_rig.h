#pragma once

#include <list>
#include <memory>
#include <vector>

#include "engine/comm/staged_communicator.h"
#include "engine/streams/ops.h"
#include "engine/windows/token_store.h"
#include "kernels/ref/ref_kernels.h"
#include "tests/engine/windows/plain_arena.h"

namespace rm::test {

// The memory and the streams of one rank, with the reference kernels.
class MemoryRig {
public:
    explicit MemoryRig(const MemoryPolicy& policy)
        : memory(streams, device_arena, host_arena, policy) {
        memory.begin_pass();
    }
    ~MemoryRig() {
        for (Stream* stream : {compute.get(), to_host.get(), from_host.get()})
            stream->synchronize();
    }

    // On the device: one row per number, `width` times that number. Lives as long as the rig.
    const TensorView& rows(const std::vector<double>& numbers, std::int64_t width) {
        std::vector<double> values;
        for (const double number : numbers)
            values.insert(values.end(), static_cast<std::size_t>(width), number);
        inputs_.emplace_back(kernels->device(), MemoryKind::data, DType::f64,
                             std::initializer_list<std::int64_t>{std::ssize(numbers), width});
        kernels->device().write(values.data(), inputs_.back());
        return inputs_.back().view();
    }
    // The first number of each row, after all work of the compute stream.
    std::vector<double> first_of_rows(const TensorView& rows) const {
        compute->synchronize();
        std::vector<double> values(static_cast<std::size_t>(rows.num_elements()));
        kernels->device().read(rows, values.data());
        const auto width = static_cast<std::size_t>(rows.dim(1));
        std::vector<double> firsts;
        for (std::size_t i = 0; i < values.size(); i += width)
            firsts.push_back(values[i]);
        return firsts;
    }

    std::unique_ptr<Kernels> kernels = make_ref_kernels();
    std::unique_ptr<Stream> compute = kernels->device().make_stream("compute");
    std::unique_ptr<Stream> to_host = kernels->device().make_stream("to-host");
    std::unique_ptr<Stream> from_host = kernels->device().make_stream("from-host");
    std::unique_ptr<Stream> communication = kernels->device().make_host_stream("communication");
    CommProgress progress;
    std::unique_ptr<Transport> transport = make_local_transport(make_local_hub(1), {});
    StagedCommunicator communicator{*transport, kernels->device(), *communication, Mesh(),
                                    progress};
    StreamOrder order;
    RankStreams streams{*kernels, *compute,   *communication, communicator,
                        *to_host, *from_host, order};
    PlainArena device_arena{kernels->device()};
    PlainArena host_arena{kernels->device()};
    StepMemory memory;
    Ops ops{*kernels, {}, *compute, &memory};

private:
    std::list<Tensor> inputs_;
};

}  // namespace rm::test
