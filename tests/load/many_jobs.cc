#include "tests/load/many_jobs.h"

#include <filesystem>

#include "controller/core/apply.h"
#include "controller/store/control_store.h"

namespace rm::load {
namespace {

constexpr int kBatch = 1000;

JobSpec spec_of(int number) {
    JobSpec spec;
    spec.name = format("job-{}", number % 100);
    spec.model.preset = "tiny";
    spec.data.sources = {{"/data/text"}};
    spec.stages = {StageSpec{.context = 8192, .batch = 8192, .tokens = 81920}};
    return spec;
}

class Writer {
public:
    explicit Writer(const std::string& path) : store_(open_control_store(path).value()) {}

    void apply(InputBody body) {
        now_.micros += 1000;
        Outcome outcome =
            rm::apply(state_, {.time = now_, .token = 1, .body = std::move(body), .steady = now_});
        changes_.merge(outcome.changes);
        events_.insert(events_.end(), outcome.events.begin(), outcome.events.end());
    }
    JobId newest() const { return state_.requests.at({request_of(next_ - 1)}); }
    void submit() {
        apply(SubmitJob{.request = {request_of(next_)},
                        .spec = spec_of(next_),
                        .yaml = "name: job\n",
                        .random = static_cast<std::uint64_t>(next_)});
        ++next_;
    }
    void commit() {
        const Status status = store_->commit(state_, changes_, events_);
        RM_CHECK(status.ok(), "{}", status.error().message);
        changes_ = {};
        events_.clear();
    }

private:
    static std::string request_of(int number) { return format("stored-{}", number); }

    std::unique_ptr<Store> store_;
    State state_;
    WallTime now_{1'700'000'000'000'000};
    int next_ = 0;
    Changes changes_;
    std::vector<AuditEvent> events_;
};

}  // namespace

void store_jobs(const std::string& state_dir, int count, int pending) {
    std::filesystem::create_directories(state_dir);
    Writer writer(state_dir + "/control.db");
    writer.apply(FoundCluster{{"load"}});
    for (int i = 0; i < count; ++i) {
        writer.submit();
        if (i < count - pending) writer.apply(CancelJob{writer.newest()});
        if (i % kBatch == kBatch - 1) writer.commit();
    }
    writer.commit();
}

}  // namespace rm::load
