#include "cli/client/curves.h"

#include <algorithm>

#include "ringmaster/v1/job.grpc.pb.h"

namespace rm {
namespace {

template <typename Values>
void append(Values& to, const Values& from) {
    to.MergeFrom(from);
}

void append_curve(pb::StepsReply& all, const pb::Curve& part) {
    auto& curves = *all.mutable_curves();
    const auto same = [&](const pb::Curve& curve) {
        return curve.quantity() == part.quantity() && curve.rank() == part.rank();
    };
    const auto known = std::find_if(curves.begin(), curves.end(), same);
    if (known == curves.end()) {
        *curves.Add() = part;
        return;
    }
    append(*known->mutable_steps(), part.steps());
    append(*known->mutable_times(), part.times());
    append(*known->mutable_values(), part.values());
}

}  // namespace

Result<pb::StepsReply> read_curves(const Client& client, pb::StepsRequest request) {
    RM_TRY(pb::StepsReply all, client.call(&pb::JobService::Stub::Steps, request));
    for (request.set_page_token(all.next_page_token()); !request.page_token().empty();) {
        RM_TRY(const pb::StepsReply page, client.call(&pb::JobService::Stub::Steps, request));
        for (const pb::Curve& part : page.curves())
            append_curve(all, part);
        request.set_page_token(page.next_page_token());
    }
    all.clear_next_page_token();
    return all;
}

std::map<std::int64_t, CurveRow> rows_of(const pb::StepsReply& reply) {
    std::map<std::int64_t, CurveRow> rows;
    for (const pb::Curve& curve : reply.curves()) {
        for (int i = 0; i < curve.steps_size(); ++i) {
            CurveRow& row = rows[curve.steps(i)];
            row.step = curve.steps(i);
            const auto micros = static_cast<std::int64_t>(curve.times(i) * 1e6);
            row.time.micros = std::max(row.time.micros, micros);
            row.values.emplace_back(curve.quantity(), curve.values(i));
        }
    }
    return rows;
}

std::string csv_values(const CurveRow& row, const std::vector<std::string>& quantities) {
    const std::map<std::string, double> values(row.values.begin(), row.values.end());
    std::string text;
    for (const std::string& quantity : quantities) {
        const auto value = values.find(quantity);
        text += value == values.end() ? "," : format(",{}", value->second);
    }
    return text;
}

Result<pb::Curve> read_curve(const Client& client, const std::string& id,
                             const std::string& quantity, std::int64_t from_step, int max_points) {
    pb::StepsRequest request;
    request.set_job_id(id);
    request.add_quantities(quantity);
    request.set_from_step(from_step);
    request.set_max_points(max_points);
    RM_TRY(pb::StepsReply reply, client.call(&pb::JobService::Stub::Steps, request));
    if (reply.curves().empty()) return pb::Curve();
    return std::move(*reply.mutable_curves(0));
}

}  // namespace rm
