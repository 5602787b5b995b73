#include "ringmaster/v1/worker.pb.h"
#include "service/convert.h"

namespace rm {
namespace {

void fill(pb::BandwidthSample& out, const BandwidthSample& sample) {
    out.set_streams(sample.streams);
    out.set_gbit_per_second(sample.rate.value);
    out.set_bytes(sample.bytes.value);
    out.set_seconds(sample.seconds.value);
    out.set_loss(sample.loss);
}

BandwidthSample sample_from(const pb::BandwidthSample& sample) {
    return {.streams = sample.streams(),
            .rate = {sample.gbit_per_second()},
            .bytes = {sample.bytes()},
            .seconds = {sample.seconds()},
            .loss = sample.loss()};
}

void fill(pb::InsideSample& out, const InsideSample& sample) {
    out.set_from(sample.from);
    out.set_to(sample.to);
    out.set_gbit_per_second(sample.rate.value);
    out.set_latency_seconds(sample.latency.value);
    out.set_bytes(sample.bytes.value);
    out.set_seconds(sample.seconds.value);
}

InsideSample inside_from(const pb::InsideSample& sample) {
    return {.from = sample.from(),
            .to = sample.to(),
            .rate = {sample.gbit_per_second()},
            .latency = {sample.latency_seconds()},
            .bytes = {sample.bytes()},
            .seconds = {sample.seconds()}};
}

}  // namespace

pb::ExpectProbe to_proto(const ExpectProbe& expect) {
    pb::ExpectProbe out;
    out.set_nonce(expect.nonce);
    out.set_valid_seconds(expect.valid.value);
    return out;
}

ExpectProbe from_proto(const pb::ExpectProbe& expect) {
    return {.nonce = expect.nonce(), .valid = {expect.valid_seconds()}};
}

pb::RunProbe to_proto(const RunProbe& run) {
    pb::RunProbe out;
    out.set_id(run.id);
    out.set_kind(run.kind == ProbeKind::node ? pb::PROBE_KIND_NODE : pb::PROBE_KIND_LINK);
    out.set_peer(run.peer.value);
    out.set_address(run.address);
    out.set_port(run.port);
    out.set_nonce(run.nonce);
    for (const int streams : run.streams)
        out.add_streams(streams);
    out.set_each_seconds(run.each.value);
    return out;
}

RunProbe from_proto(const pb::RunProbe& run) {
    return {.id = run.id(),
            .kind = run.kind() == pb::PROBE_KIND_NODE ? ProbeKind::node : ProbeKind::link,
            .peer = {run.peer()},
            .address = run.address(),
            .port = run.port(),
            .nonce = run.nonce(),
            .streams = {run.streams().begin(), run.streams().end()},
            .each = {run.each_seconds()}};
}

pb::ProbeReport to_proto(const ProbeReport& report) {
    pb::ProbeReport out;
    out.set_id(report.id);
    out.set_error(report.error);
    for (const BandwidthSample& sample : report.samples)
        fill(*out.add_samples(), sample);
    out.set_latency_seconds(report.latency.value);
    out.set_jitter_seconds(report.jitter.value);
    for (const InsideSample& sample : report.inside)
        fill(*out.add_inside(), sample);
    return out;
}

ProbeReport from_proto(const pb::ProbeReport& report) {
    ProbeReport out{.id = report.id(),
                    .error = report.error(),
                    .latency = {report.latency_seconds()},
                    .jitter = {report.jitter_seconds()}};
    for (const pb::BandwidthSample& sample : report.samples())
        out.samples.push_back(sample_from(sample));
    for (const pb::InsideSample& sample : report.inside())
        out.inside.push_back(inside_from(sample));
    return out;
}

}  // namespace rm
