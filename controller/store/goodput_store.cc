#include "controller/store/goodput_store.h"

#include "controller/store/table.h"

namespace rm {

void columns(Like<StepRow> auto& row, auto&& visit) {
    visit("id", row.id);
    visit("job", row.job);
    visit("epoch", row.epoch);
    visit("rank", row.rank);
    visit("end_offset", row.end_offset);
    visit("received", row.received);
    visit("report", row.bytes);
}

void columns(Like<AttemptAccount> auto& account, auto&& visit) {
    visit("epoch", account.epoch);
    visit("job", account.job);
    visit("end_offset", account.end_offset);
    visit("last_step", account.last_step);
    visit("reached", account.reached);
    visit("until", account.until);
    visit("clock_offset", account.clock_offset);
    visit("recent", account.recent);
    visit("good", account.split.good);
    for (std::size_t i = 0; i < kBadputNames.size(); ++i)
        visit(kBadputNames[i], account.split.bad[i]);
}

namespace {

Result<std::int64_t> read_place(Database& database) {
    RM_TRY(Statement select, database.prepare("SELECT coalesce(max(id), 0) FROM goodput_read"));
    RM_TRY([[maybe_unused]] const bool found, select.step());
    return select.whole(0);
}

}  // namespace

Result<std::unique_ptr<GoodputStore>> GoodputStore::open(const std::string& path) {
    RM_TRY(Database database, Database::open(path, Access::write));
    RM_TRY(const std::int64_t read, read_place(database));
    return std::unique_ptr<GoodputStore>(new GoodputStore(std::move(database), read));
}

Result<std::vector<StepRow>> GoodputStore::next(int limit) {
    RM_TRY(Statement select,
           database_.prepare(format("SELECT {} FROM steps WHERE id > ? ORDER BY id LIMIT ?",
                                    column_names<StepRow>().names)));
    RM_TRY(std::vector<StepRow> rows, read_rows<StepRow>(select.bind_all(read_, limit)));
    if (!rows.empty()) read_ = rows.back().id;
    return rows;
}

Result<std::vector<AttemptAccount>> GoodputStore::load(const JobId& job) {
    RM_TRY(Statement select,
           database_.prepare(format("SELECT {} FROM goodput WHERE job = ? ORDER BY epoch",
                                    column_names<AttemptAccount>().names)));
    return read_rows<AttemptAccount>(select.bind_all(job));
}

Status GoodputStore::write(std::span<const AttemptAccount> accounts) {
    return database_.transaction([&]() -> Status {
        RM_RETURN_IF_ERROR(
            write_rows(database_, "goodput", std::vector(accounts.begin(), accounts.end())));
        RM_TRY(Statement place,
               database_.prepare("INSERT OR REPLACE INTO goodput_read (one, id) VALUES (1, ?)"));
        return place.bind_all(read_).run();
    });
}

}  // namespace rm
