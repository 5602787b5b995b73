#include "controller/store/curve_store.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "controller/curves/largest_triangle.h"

namespace rm {
namespace {

// Streams that one tidy() packs, and ranks whose lines it thins: reports wait meanwhile.
constexpr int kPackedAtOnce = 64;
constexpr int kThinnedAtOnce = 1;
// Reports of a rank that wait for the accounts of time, which read every few seconds, if they do.
constexpr int kMostUnread = 1 << 13;
constexpr std::int64_t kAnyPlace = std::numeric_limits<std::int64_t>::max();
constexpr CurveLimits kJobLimits;  // rank 0
constexpr CurveLimits kRankLimits{.whole = 32,
                                  .packed = 32,
                                  .whole_ended = 1,
                                  .chunk = 1 << 10,
                                  .points = 1 << 14,
                                  .points_old = 256,
                                  .points_ancient = 64};

ChunkValues values_of(std::string_view quantity) {
    return quantity == kStepTimes ? ChunkValues::whole : ChunkValues::real;
}

// How many points a line of the rank may have at an age.
int most_points(const CurveLimits& limits, Seconds age) {
    if (age >= kAncient) return limits.points_ancient;
    return age >= kOld ? limits.points_old : limits.points;
}

}  // namespace

CurveLimits curve_limits(int rank) {
    return rank == 0 ? kJobLimits : kRankLimits;
}

bool CurveStore::is_full(const WholeReports& whole, int rank) {
    const CurveLimits limits = curve_limits(rank);
    return whole.count >= limits.whole + limits.packed;
}

Result<CurveStore> CurveStore::open(Database& database, StepSampler sampler) {
    RM_TRY(Statement place,
           database.prepare(format("SELECT coalesce(max(id), {}) FROM goodput_read", kAnyPlace)));
    RM_TRY(Statement oldest,
           database.prepare("SELECT job, received, report FROM steps WHERE epoch = ? AND "
                            "rank = ? AND id <= ? ORDER BY end_offset LIMIT ?"));
    RM_TRY(Statement drop,
           database.prepare("DELETE FROM steps WHERE epoch = ?1 AND rank = ?2 AND end_offset IN "
                            "(SELECT end_offset FROM steps WHERE epoch = ?1 AND rank = ?2 "
                            "ORDER BY end_offset LIMIT ?3)"));
    RM_TRY(Statement last_chunk,
           database.prepare(
               "SELECT first_step, last_step, data FROM curves WHERE job = ? AND "
               "rank = ? AND quantity = ? AND epoch = ? ORDER BY first_step DESC LIMIT 1"));
    RM_TRY(Statement put_chunk,
           database.prepare("INSERT OR REPLACE INTO curves (job, rank, quantity, epoch, "
                            "first_step, last_step, data) VALUES (?, ?, ?, ?, ?, ?, ?)"));
    RM_TRY(Statement put_rank,
           database.prepare("INSERT INTO curve_ranks (job, rank, points, newest) "
                            "VALUES (?, ?, ?, ?) ON CONFLICT (job, rank) DO UPDATE SET "
                            "points = points + excluded.points, newest = excluded.newest"));
    RM_TRY(Statement long_ranks,
           database.prepare("SELECT job, rank, points, newest FROM curve_ranks WHERE "
                            "(rank = 0 AND (points > ?1 OR (points > ?2 AND newest < ?5) OR "
                            "(points > ?3 AND newest < ?6))) OR "
                            "(rank > 0 AND (points > ?4 OR (points > ?7 AND newest < ?5) OR "
                            "(points > ?8 AND newest < ?6))) LIMIT ?9"));
    RM_TRY(Statement set_points,
           database.prepare("UPDATE curve_ranks SET points = ? WHERE job = ? AND rank = ?"));
    RM_TRY(Statement quantities,
           database.prepare("SELECT DISTINCT quantity FROM curves WHERE job = ? AND rank = ?"));
    RM_TRY(Statement chunks,
           database.prepare("SELECT epoch, data FROM curves WHERE job = ? AND rank = ? AND "
                            "quantity = ? ORDER BY epoch, first_step"));
    RM_TRY(Statement drop_line,
           database.prepare("DELETE FROM curves WHERE job = ? AND rank = ? AND quantity = ?"));
    Statements statements{std::move(place),      std::move(oldest),     std::move(drop),
                          std::move(last_chunk), std::move(put_chunk),  std::move(put_rank),
                          std::move(long_ranks), std::move(set_points), std::move(quantities),
                          std::move(chunks),     std::move(drop_line)};
    CurveStore store(std::move(statements), std::move(sampler));
    RM_RETURN_IF_ERROR(store.count_whole(database));
    return store;
}

Status CurveStore::count_whole(Database& database) {
    RM_TRY(Statement count, database.prepare("SELECT epoch, rank, COUNT(*), MAX(received) "
                                             "FROM steps GROUP BY epoch, rank"));
    whole_.clear();
    full_.clear();
    is_counted_ = true;
    while (true) {
        RM_TRY(const bool more, count.step());
        if (!more) return {};
        const int rank = static_cast<int>(count.whole(1));
        const WholeReports whole{static_cast<int>(count.whole(2)), {count.whole(3)}};
        whole_[{count.whole(0), rank}] = whole;
        if (sampler_ && is_full(whole, rank)) full_.insert({count.whole(0), rank});
    }
}

void CurveStore::kept_step(Epoch epoch, int rank, WallTime received) {
    const StreamKey key{epoch.value, rank};
    WholeReports& whole = whole_[key];
    ++whole.count;
    whole.newest = received;
    if (sampler_ && is_full(whole, rank)) full_.insert(key);
}

Status CurveStore::pack() {
    for (const StreamKey& key : std::exchange(full_, {})) {
        const auto& [epoch, rank] = key;
        const int extra = whole_[key].count - curve_limits(rank).whole;
        RM_RETURN_IF_ERROR(pack({epoch}, rank, extra));
        if (is_full(whole_[key], rank)) full_.insert(key);
    }
    return {};
}

Result<int> CurveStore::pack(Epoch epoch, int rank, int count) {
    WholeReports& whole = whole_[{epoch.value, rank}];
    RM_RETURN_IF_ERROR(sql_.place.step());
    const std::int64_t read = whole.count > kMostUnread ? kAnyPlace : sql_.place.whole(0);
    sql_.place.reset();
    std::map<std::string, CurveLine> lines;
    std::string job;
    WallTime newest;
    int packed = 0;
    sql_.oldest.bind_all(epoch, rank, read, count);
    for (;; ++packed) {
        RM_TRY(const bool more, sql_.oldest.step());
        if (!more) break;
        const auto report = sampler_(sql_.oldest.text(2), rank);
        if (!report) continue;
        job = sql_.oldest.text(0);
        newest = {sql_.oldest.whole(1)};
        lines[std::string(kStepTimes)].add(report->step, static_cast<double>(newest.micros));
        for (const auto& [quantity, value] : report->samples)
            lines[quantity].add(report->step, value);
    }
    for (const auto& [quantity, line] : lines)
        RM_RETURN_IF_ERROR(append({job, rank, quantity}, epoch, line));
    RM_RETURN_IF_ERROR(sql_.drop.bind_all(epoch, rank, packed).run());
    whole.count -= packed;
    if (lines.empty()) return packed;
    const std::int64_t points = std::ssize(lines.at(std::string(kStepTimes)).steps);
    RM_RETURN_IF_ERROR(sql_.put_rank.bind_all(job, rank, points, newest).run());
    return packed;
}

// The attempt's last chunk takes the line while it has room; put() then replaces it.
Status CurveStore::append(const LineKey& key, Epoch epoch, const CurveLine& line) {
    if (line.size() == 0) return {};
    CurveLine chunk;
    sql_.last_chunk.bind_all(key.job, key.rank, key.quantity, epoch);
    RM_TRY(const bool found, sql_.last_chunk.step());
    const bool has_room =
        found && sql_.last_chunk.whole(1) < line.steps.front() &&
        line.steps.back() - sql_.last_chunk.whole(0) < curve_limits(key.rank).chunk;
    // A damaged chunk stays as it is: it must not end the writing of telemetry.
    if (has_room && !decode_chunk(sql_.last_chunk.text(2), chunk)) chunk = {};
    sql_.last_chunk.reset();
    chunk.steps.insert(chunk.steps.end(), line.steps.begin(), line.steps.end());
    chunk.values.insert(chunk.values.end(), line.values.begin(), line.values.end());
    return put(key, epoch, chunk);
}

Status CurveStore::put(const LineKey& key, Epoch epoch, const CurveLine& line) {
    return sql_.put_chunk
        .bind_all(key.job, key.rank, key.quantity, epoch, line.steps.front(), line.steps.back())
        .bind_blob(7, encode_chunk(line, values_of(key.quantity)))
        .run();
}

Result<bool> CurveStore::tidy(Database& database, WallTime now) {
    if (!sampler_) return false;
    if (!is_counted_) RM_RETURN_IF_ERROR(count_whole(database));
    RM_TRY(const bool packed, pack_ended(now));
    RM_TRY(const bool thinned, thin_long(now));
    return packed || thinned;
}

Result<bool> CurveStore::pack_ended(WallTime now) {
    int packed = 0;
    for (const auto& [key, whole] : whole_) {
        const Seconds quiet = now - whole.newest;
        const bool is_old = key.second > 0 && quiet >= kOld;
        const int kept = is_old ? 0 : curve_limits(key.second).whole_ended;
        if (whole.count <= kept || quiet < kEnded) continue;
        RM_TRY(const int count, pack({key.first}, key.second, whole.count - kept));
        packed += count > 0 ? 1 : 0;
        if (packed == kPackedAtOnce) return true;
    }
    return false;
}

Result<bool> CurveStore::thin_long(WallTime now) {
    struct LongRank {
        std::string job;
        int rank = 0;
        int points = 0;
    };
    std::vector<LongRank> found;
    sql_.long_ranks.bind_all(kJobLimits.points, kJobLimits.points_old, kJobLimits.points_ancient,
                             kRankLimits.points, now + Seconds{-kOld.value},
                             now + Seconds{-kAncient.value}, kRankLimits.points_old,
                             kRankLimits.points_ancient, kThinnedAtOnce);
    while (true) {
        RM_TRY(const bool more, sql_.long_ranks.step());
        if (!more) break;
        const int rank = static_cast<int>(sql_.long_ranks.whole(1));
        const Seconds age = now - WallTime{sql_.long_ranks.whole(3)};
        found.push_back({sql_.long_ranks.text(0), rank, most_points(curve_limits(rank), age)});
    }
    // Half of the limit, so that a live line has room to grow.
    for (const LongRank& one : found)
        RM_RETURN_IF_ERROR(thin_rank(one.job, one.rank, one.points / 2));
    return !found.empty();
}

Status CurveStore::thin_rank(const std::string& job, int rank, int points) {
    std::vector<std::string> quantities;
    sql_.quantities.bind_all(job, rank);
    while (true) {
        RM_TRY(const bool more, sql_.quantities.step());
        if (!more) break;
        quantities.push_back(sql_.quantities.text(0));
    }
    for (const std::string& quantity : quantities)
        RM_RETURN_IF_ERROR(thin_line({job, rank, quantity}, points));
    return sql_.set_points.bind_all(points, job, rank).run();
}

Status CurveStore::thin_line(const LineKey& key, int points) {
    std::map<std::int64_t, CurveLine> parts;
    sql_.chunks.bind_all(key.job, key.rank, key.quantity);
    while (true) {
        RM_TRY(const bool more, sql_.chunks.step());
        if (!more) break;
        RM_RETURN_IF_ERROR(decode_chunk(sql_.chunks.text(1), parts[sql_.chunks.whole(0)]));
    }
    if (parts.empty()) return {};
    const Epoch newest{parts.rbegin()->first};
    const CurveLine line = thinned(joined(std::move(parts)), static_cast<std::size_t>(points));
    if (line.size() == 0) return {};
    RM_RETURN_IF_ERROR(sql_.drop_line.bind_all(key.job, key.rank, key.quantity).run());
    return put(key, newest, line);
}

CurveLine joined(std::map<std::int64_t, CurveLine> parts) {
    CurveLine line;
    for (auto& [epoch, part] : parts) {
        if (part.size() == 0) continue;
        const auto again =
            std::lower_bound(line.steps.begin(), line.steps.end(), part.steps.front());
        const auto kept = static_cast<std::size_t>(again - line.steps.begin());
        if (kept == 0) {
            line = std::move(part);
            continue;
        }
        line.steps.resize(kept);
        line.values.resize(kept);
        line.steps.insert(line.steps.end(), part.steps.begin(), part.steps.end());
        line.values.insert(line.values.end(), part.values.begin(), part.values.end());
    }
    return line;
}

}  // namespace rm
