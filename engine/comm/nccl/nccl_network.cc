#include "engine/comm/nccl/nccl_network.h"

#include "base/format.h"
#include "engine/comm/nccl/nccl_communicator.h"

namespace rm {
namespace {

class NcclNetwork final : public Network {
public:
    NcclNetwork(const nccl::Api& api, const NcclOptions& options,
                std::vector<nccl::OwnGroup> groups)
        : api_(api),
          rank_(options.rank),
          num_ranks_(options.mesh.num_ranks()),
          address_(options.address),
          settings_(options.settings),
          timeout_seconds_(options.timeout.value),
          all_(api, std::move(groups), options.timeout, options.stop) {}

    std::string_view name() const override { return "nccl"; }
    std::string description() const override {
        return format("nccl {}{}{}", nccl::version_text(api_.version),
                      settings_.empty() ? "" : " on ", settings_);
    }
    int rank() const override { return rank_; }
    int num_ranks() const override { return num_ranks_; }

    std::unique_ptr<Stream> make_stream(Device& device) override {
        return device.make_stream("communication");
    }
    std::unique_ptr<Communicator> make_communicator(Device& device, Stream& stream,
                                                    const Mesh& mesh,
                                                    CommProgress& progress) override {
        return std::make_unique<nccl::NcclCommunicator>(api_, all_, device, stream, mesh, rank_,
                                                        timeout_seconds_, progress);
    }

    void set_timeout(Seconds timeout) override { timeout_seconds_ = timeout.value; }
    std::string address() const override { return address_; }
    void abort(const std::string& reason) override { all_.abort(reason); }

private:
    const nccl::Api& api_;
    const int rank_;
    const int num_ranks_;
    const std::string address_;
    const std::string settings_;
    std::atomic<double> timeout_seconds_;
    nccl::Communicators all_;
};

}  // namespace

Result<std::unique_ptr<Network>> make_nccl_network(Exchange& exchange, const NcclOptions& options) {
    RM_TRY(const nccl::Api* const api, nccl::open());
    std::vector<nccl::OwnGroup> groups = nccl::own_groups(options.mesh, options.rank);
    nccl::exchange_ids(*api, exchange, options.rank, options.timeout, groups);
    return std::unique_ptr<Network>(
        std::make_unique<NcclNetwork>(*api, options, std::move(groups)));
}

}  // namespace rm
