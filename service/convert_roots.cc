#include "ringmaster/v1/node.pb.h"
#include "ringmaster/v1/worker.pb.h"
#include "service/convert.h"

namespace rm {
namespace {

// The wire's numbers are one more: 0 says nothing.
template <typename E>
Result<E> enum_from(int number, E last, std::string_view what) {
    if (number >= 1 && number <= static_cast<int>(last) + 1) return static_cast<E>(number - 1);
    return invalid_argument("{} {} is not known", what, number);
}

pb::ProbeStep to_message(ProbeStep step) {
    return static_cast<pb::ProbeStep>(static_cast<int>(step) + 1);
}

}  // namespace

pb::Root to_proto(const RootInfo& root) {
    pb::Root out;
    out.set_name(root.name);
    out.set_path(root.path);
    out.set_mount(root.mount);
    out.set_problem(root.problem);
    out.set_writable(root.writable);
    out.set_free_bytes(root.free.value);
    out.set_write_bytes_per_second(root.write_per_second.value);
    return out;
}

RootInfo from_proto(const pb::Root& root) {
    return {.name = root.name(),
            .path = root.path(),
            .mount = root.mount(),
            .problem = root.problem(),
            .writable = root.writable(),
            .free = {root.free_bytes()},
            .write_per_second = {root.write_bytes_per_second()}};
}

pb::FileFacts to_proto(const FileFacts& facts) {
    pb::FileFacts out;
    out.set_use(static_cast<pb::FileUse>(static_cast<int>(facts.use) + 1));
    out.set_path(facts.path);
    out.set_problem(facts.problem);
    out.set_root(facts.root);
    out.set_below(facts.below);
    out.set_index(facts.index);
    out.set_parameters(facts.parameters);
    out.set_free_bytes(facts.free.value);
    return out;
}

Result<FileFacts> from_proto(const pb::FileFacts& facts) {
    FileFacts out{.path = facts.path(),
                  .problem = facts.problem(),
                  .root = facts.root(),
                  .below = facts.below(),
                  .index = facts.index(),
                  .parameters = facts.parameters(),
                  .free = {facts.free_bytes()}};
    RM_TRY(out.use, enum_from(facts.use(), FileUse::exports, "use of a file"));
    return out;
}

pb::ProbeRoot to_proto(const ProbeRoot& probe) {
    pb::ProbeRoot out;
    out.set_root(probe.root);
    out.set_nonce(probe.nonce);
    out.set_step(to_message(probe.step));
    return out;
}

Result<ProbeRoot> from_proto(const pb::ProbeRoot& probe) {
    ProbeRoot out{.root = probe.root(), .nonce = probe.nonce()};
    RM_TRY(out.step, enum_from(probe.step(), ProbeStep::remove, "step of a probe"));
    return out;
}

pb::RootProbed to_proto(const RootProbed& probed) {
    pb::RootProbed out;
    out.set_root(probed.root);
    out.set_nonce(probed.nonce);
    out.set_step(to_message(probed.step));
    out.set_found(probed.found);
    out.set_problem(probed.problem);
    return out;
}

Result<RootProbed> from_proto(const pb::RootProbed& probed) {
    RootProbed out{.root = probed.root(),
                   .nonce = probed.nonce(),
                   .found = probed.found(),
                   .problem = probed.problem()};
    RM_TRY(out.step, enum_from(probed.step(), ProbeStep::remove, "step of a probe"));
    return out;
}

}  // namespace rm
