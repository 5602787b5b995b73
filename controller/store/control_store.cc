#include "controller/store/control_store.h"

#include <tuple>
#include <utility>

#include "controller/store/table.h"

namespace rm {
namespace {

// A table whose rows are replaced by primary key or, if they have an owner, in order and all rows
// of one owner at once.
template <typename Row>
class Table {
public:
    static Result<Table> prepare(Database& database, const std::string& name,
                                 const std::string& owner = "") {
        const ColumnNames names = column_names<Row>();
        const bool is_child = !owner.empty();
        RM_TRY(Statement write,
               database.prepare(format("INSERT OR REPLACE INTO {} ({}{}) VALUES ({}{})", name,
                                       is_child ? owner + ", position, " : "", names.names,
                                       is_child ? "?, ?, " : "", names.marks)));
        RM_TRY(Statement read, database.prepare(format(
                                   "SELECT {}, {} FROM {}{}", is_child ? owner : "0", names.names,
                                   name, is_child ? format(" ORDER BY {}, position", owner) : "")));
        RM_TRY(Statement remove,
               database.prepare(format("DELETE FROM {}{}", name,
                                       is_child ? format(" WHERE {} = ?", owner) : "")));
        return Table(std::move(write), std::move(read), std::move(remove));
    }
    Status put(const Row& row) { return bind_row(write_, row).run(); }
    Status put(const Value& owner, const std::vector<Row>& rows) {
        RM_RETURN_IF_ERROR(remove_.bind(1, owner).run());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            write_.bind(1, owner).bind(2, encode(i));
            RM_RETURN_IF_ERROR(bind_row(write_, rows[i], 3).run());
        }
        return {};
    }
    Status clear() { return remove_.run(); }
    // Calls take(owner, row) for each row.
    template <typename F>
    Status each(F&& take) {
        while (true) {
            RM_TRY(const bool more, read_.step());
            if (!more) return {};
            RM_TRY(Row row, read_row<Row>(read_, 1));
            RM_RETURN_IF_ERROR(take(read_.column(0), std::move(row)));
        }
    }

private:
    Table(Statement write, Statement read, Statement remove)
        : write_(std::move(write)), read_(std::move(read)), remove_(std::move(remove)) {}
    Statement write_;
    Statement read_;
    Statement remove_;
};

// The columns of a table whose rows have these `keys` besides their described members.
template <typename Row>
std::map<std::string, Value> described(std::initializer_list<std::string> keys = {}) {
    std::map<std::string, Value> found;
    for (const std::string& key : keys)
        found.emplace(key, Value());
    const Row blank;
    columns(blank,
            [&](std::string_view name, const auto& value) { found.emplace(name, encode(value)); });
    return found;
}

// The ordered lists that a row owns, whose entries are rows of other tables.
auto children_of(Like<Job> auto& job) {
    return std::tie(job.spec.stages, job.spec.evaluation.suites, job.spec.evaluation.prompts);
}
auto children_of(Like<Attempt> auto& attempt) {
    return std::tie(attempt.ranks);
}
auto children_of(Like<Node> auto& node) {
    return std::tie(node.inventory.devices);
}

// A table of rows and one of each of their lists, in the order of children_of().
template <typename Row, typename... Children>
struct Family {
    Table<Row> rows;
    std::tuple<Table<Children>...> children;

    template <typename Key>
    Status put(const std::map<Key, Row>& map, const std::set<Key>& changed) {
        for (const Key& id : changed) {
            const Row& row = map.at(id);
            RM_RETURN_IF_ERROR(rows.put(row));
            RM_RETURN_IF_ERROR(each_list([&](auto list) {
                return std::get<list>(children).put(encode(id), std::get<list>(children_of(row)));
            }));
        }
        return {};
    }
    // `key` is the primary key of the rows.
    template <typename Key>
    Status load(std::map<Key, Row>& map, Key Row::*key) {
        RM_RETURN_IF_ERROR(rows.each([&](const Value&, Row row) -> Status {
            const Key id = row.*key;
            map.emplace(id, std::move(row));
            return {};
        }));
        return each_list([&](auto list) { return load_list<list>(map); });
    }

private:
    template <std::size_t list, typename Key>
    Status load_list(std::map<Key, Row>& map) {
        return std::get<list>(children).each([&](const Value& owner, auto child) -> Status {
            Key id;
            RM_RETURN_IF_ERROR(decode(owner, id));
            const auto it = map.find(id);
            if (it == map.end()) return data_loss("a row belongs to {}, which does not exist", id);
            std::get<list>(children_of(it->second)).push_back(std::move(child));
            return {};
        });
    }
    // Calls visit(index) for each list, up to the first error.
    template <typename Visit, std::size_t list = 0>
    static Status each_list(const Visit& visit) {
        if constexpr (list < sizeof...(Children)) {
            RM_RETURN_IF_ERROR(visit(std::integral_constant<std::size_t, list>()));
            return each_list<Visit, list + 1>(visit);
        } else {
            return {};
        }
    }
};

class ControlStore final : public Store {
public:
    static Result<std::unique_ptr<Store>> open(const std::string& path, SpaceGuard* space) {
        RM_TRY(Database database, open_migrated(path, control_schema(), Durability::full));
        RM_TRY(auto meta, Table<State>::prepare(database, "meta"));
        RM_TRY(auto jobs, Table<Job>::prepare(database, "jobs"));
        RM_TRY(auto stages, Table<StageSpec>::prepare(database, "stages", "job"));
        RM_TRY(auto suites, Table<SuiteSpec>::prepare(database, "suites", "job"));
        RM_TRY(auto prompts, Table<PromptSpec>::prepare(database, "prompts", "job"));
        RM_TRY(auto attempts, Table<Attempt>::prepare(database, "attempts"));
        RM_TRY(auto placements, Table<RankRecord>::prepare(database, "placements", "epoch"));
        RM_TRY(auto nodes, Table<Node>::prepare(database, "nodes"));
        RM_TRY(auto devices, Table<DeviceInfo>::prepare(database, "devices", "node"));
        RM_TRY(auto profiles, Table<KeptProfile>::prepare(database, "profiles"));
        RM_TRY(Statement event, database.prepare("INSERT INTO events (time, kind, subject, fields) "
                                                 "VALUES (?, ?, ?, ?)"));
        return std::unique_ptr<Store>(new ControlStore(
            {std::move(database),
             std::move(meta),
             {std::move(jobs), {std::move(stages), std::move(suites), std::move(prompts)}},
             {std::move(attempts), {std::move(placements)}},
             {std::move(nodes), {std::move(devices)}},
             std::move(profiles),
             std::move(event)},
            space));
    }

    Result<State> load() override {
        State state;
        RM_RETURN_IF_ERROR(t_.meta.each([&](const Value&, State row) -> Status {
            state = std::move(row);
            return {};
        }));
        RM_RETURN_IF_ERROR(t_.jobs.load(state.jobs, &Job::id));
        RM_RETURN_IF_ERROR(t_.attempts.load(state.attempts, &Attempt::epoch));
        RM_RETURN_IF_ERROR(t_.nodes.load(state.nodes, &Node::id));
        RM_RETURN_IF_ERROR(t_.profiles.each([&](const Value&, KeptProfile row) -> Status {
            const ProfileKey key = key_of(row.measured);
            state.profiles.emplace(key, std::move(row));
            return {};
        }));
        return state;
    }

    Status take_turn() override {
        RM_RETURN_IF_ERROR(t_.database.begin());
        has_turn_ = true;
        return {};
    }
    void leave_turn() override {
        if (std::exchange(has_turn_, false)) t_.database.roll_back();
    }

    Status commit(const State& state, const Changes& changes,
                  const std::vector<AuditEvent>& events) override {
        Status status = write(state, changes, events);
        if (is_full(status)) {
            compact();
            status = write(state, changes, events);
        }
        if (is_full(status) && space_ != nullptr && space_->release_reserve()) {
            compact();
            status = write(state, changes, events);
        }
        return status;
    }

private:
    static bool is_full(const Status& status) {
        return !status && status.error().code == ErrorCode::resource_exhausted;
    }
    // Moves the write-ahead log into the tables to free its space. This fails if even the tables
    // have no space; the next write reports that.
    void compact() {
        static_cast<void>(t_.database.execute("PRAGMA wal_checkpoint(TRUNCATE)").ok());
    }
    Status write(const State& state, const Changes& changes,
                 const std::vector<AuditEvent>& events) {
        if (!std::exchange(has_turn_, false)) RM_RETURN_IF_ERROR(t_.database.begin());
        return t_.database.finish([&]() -> Status {
            RM_RETURN_IF_ERROR(put_rows(state, changes));
            for (const AuditEvent& event : events) {
                RM_RETURN_IF_ERROR(
                    t_.event.bind_all(event.time, event.kind, event.subject, to_json(event.fields))
                        .run());
            }
            return {};
        });
    }

    // In this order: statements end before their database.
    struct Parts {
        Database database;
        Table<State> meta;
        Family<Job, StageSpec, SuiteSpec, PromptSpec> jobs;
        Family<Attempt, RankRecord> attempts;
        Family<Node, DeviceInfo> nodes;
        Table<KeptProfile> profiles;
        Statement event;
    };
    ControlStore(Parts parts, SpaceGuard* space) : t_(std::move(parts)), space_(space) {}

    Status put_rows(const State& state, const Changes& changes) {
        if (changes.meta) {
            RM_RETURN_IF_ERROR(t_.meta.clear());
            RM_RETURN_IF_ERROR(t_.meta.put(state));
        }
        RM_RETURN_IF_ERROR(t_.jobs.put(state.jobs, changes.jobs));
        RM_RETURN_IF_ERROR(t_.attempts.put(state.attempts, changes.attempts));
        RM_RETURN_IF_ERROR(t_.nodes.put(state.nodes, changes.nodes));
        for (const ProfileKey& key : changes.profiles)
            RM_RETURN_IF_ERROR(t_.profiles.put(state.profiles.at(key)));
        return {};
    }

    Parts t_;
    SpaceGuard* const space_;
    bool has_turn_ = false;  // a transaction has begun
};

}  // namespace

Schema control_schema() {
    return {.migrations = control_migrations(),
            .columns = {{"meta", described<State>()},
                        {"jobs", described<Job>()},
                        {"stages", described<StageSpec>({"job", "position"})},
                        {"suites", described<SuiteSpec>({"job", "position"})},
                        {"prompts", described<PromptSpec>({"job", "position"})},
                        {"attempts", described<Attempt>()},
                        {"placements", described<RankRecord>({"epoch", "position"})},
                        {"nodes", described<Node>()},
                        {"devices", described<DeviceInfo>({"node", "position"})},
                        {"profiles", described<KeptProfile>()}}};
}

Result<std::unique_ptr<Store>> open_control_store(const std::string& path, SpaceGuard* space) {
    return ControlStore::open(path, space);
}

}  // namespace rm
