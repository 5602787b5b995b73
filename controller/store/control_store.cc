#include "controller/store/control_store.h"

#include <optional>

#include "controller/core/columns.h"
#include "controller/store/schema.h"
#include "controller/store/sqlite.h"

namespace rm {
namespace {

// A visitor of columns that collects their names.
struct Names {
    std::string names;
    std::string marks;
    int count = 0;
    template <typename T>
    void operator()(std::string_view name, const T&) {
        names += (count == 0 ? "" : ", ") + std::string(name);
        marks += count == 0 ? "?" : ", ?";
        ++count;
    }
};

// Binds columns to the parameters from `next` on.
struct Binder {
    Statement& statement;
    int next = 1;
    template <typename T>
    void operator()(std::string_view, const T& value) {
        statement.bind(next++, encode(value));
    }
};

// Reads columns from `next` on; the first failure stays.
struct Reader {
    const Statement& statement;
    int next = 0;
    std::optional<Error> error;
    template <typename T>
    void operator()(std::string_view name, T& value) {
        const Status status = decode(statement.column(next++), value);
        if (!status && !error) {
            error = make_error(ErrorCode::data_loss, "column {}: {}", name, status.error().message);
        }
    }
    Status status() const { return error ? Status(*error) : Status(); }
};

template <typename Visitor, typename Row>
void walk(Visitor&& visitor, Row& row) {
    using T = std::remove_const_t<Row>;
    if constexpr (std::is_same_v<T, Job>) job_columns(row, visitor);
    if constexpr (std::is_same_v<T, StageSpec>) stage_columns(row, visitor);
    if constexpr (std::is_same_v<T, Attempt>) attempt_columns(row, visitor);
    if constexpr (std::is_same_v<T, RankRecord>) placement_columns(row, visitor);
    if constexpr (std::is_same_v<T, Node>) node_columns(row, visitor);
    if constexpr (std::is_same_v<T, DeviceInfo>) device_columns(row, visitor);
    if constexpr (std::is_same_v<T, State>) meta_columns(row, visitor);
}

// A table whose rows stand alone, replaced by primary key.
template <typename Row>
class Table {
public:
    static Result<Table> prepare(Database& database, const char* name) {
        Names names;
        const Row blank;
        walk(names, blank);
        RM_TRY(Statement write,
               database.prepare(format("INSERT OR REPLACE INTO {} ({}) VALUES ({})", name,
                                       names.names, names.marks)));
        RM_TRY(Statement read, database.prepare(format("SELECT {} FROM {}", names.names, name)));
        return Table(std::move(write), std::move(read));
    }
    Status put(const Row& row) {
        walk(Binder{write_}, row);
        return write_.run();
    }
    template <typename F>
    Status each(F&& take) {
        while (true) {
            RM_TRY(const bool more, read_.step());
            if (!more) return {};
            Row row;
            Reader reader{read_, 0, {}};
            walk(reader, row);
            RM_RETURN_IF_ERROR(reader.status());
            take(std::move(row));
        }
    }

private:
    Table(Statement write, Statement read) : write_(std::move(write)), read_(std::move(read)) {}
    Statement write_;
    Statement read_;
};

// A table of ordered children, replaced as a whole per owner.
template <typename Row>
class ChildTable {
public:
    static Result<ChildTable> prepare(Database& database, const char* name, const char* owner) {
        Names names;
        const Row blank;
        walk(names, blank);
        RM_TRY(Statement remove,
               database.prepare(format("DELETE FROM {} WHERE {} = ?", name, owner)));
        RM_TRY(Statement insert,
               database.prepare(format("INSERT INTO {} ({}, position, {}) VALUES (?, ?, {})", name,
                                       owner, names.names, names.marks)));
        RM_TRY(Statement read,
               database.prepare(format("SELECT {}, {} FROM {} ORDER BY {}, position", owner,
                                       names.names, name, owner)));
        return ChildTable(std::move(remove), std::move(insert), std::move(read));
    }
    Status put(const Value& owner, const std::vector<Row>& rows) {
        RM_RETURN_IF_ERROR(remove_.bind(1, owner).run());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            insert_.bind(1, owner).bind(2, static_cast<std::int64_t>(i));
            walk(Binder{insert_, 3}, rows[i]);
            RM_RETURN_IF_ERROR(insert_.run());
        }
        return {};
    }
    template <typename F>
    Status each(F&& take) {
        while (true) {
            RM_TRY(const bool more, read_.step());
            if (!more) return {};
            Row row;
            Reader reader{read_, 1, {}};
            walk(reader, row);
            RM_RETURN_IF_ERROR(reader.status());
            RM_RETURN_IF_ERROR(take(read_.column(0), std::move(row)));
        }
    }

private:
    ChildTable(Statement remove, Statement insert, Statement read)
        : remove_(std::move(remove)), insert_(std::move(insert)), read_(std::move(read)) {}
    Statement remove_;
    Statement insert_;
    Statement read_;
};

// The row of `map` that a child belongs to.
template <typename Map>
Result<typename Map::mapped_type*> owner_in(Map& map, const Value& key) {
    typename Map::key_type id;
    RM_RETURN_IF_ERROR(decode(key, id));
    const auto it = map.find(id);
    if (it == map.end()) {
        return make_error(ErrorCode::data_loss, "a row belongs to {}, which does not exist", id);
    }
    return &it->second;
}

class ControlStore final : public Store {
public:
    static Result<std::unique_ptr<Store>> open(const std::string& path, SpaceGuard* space) {
        RM_TRY(Database database, open_migrated(path, control_migrations(), Durability::full));
        RM_TRY(auto meta, Table<State>::prepare(database, "meta"));
        RM_TRY(auto jobs, Table<Job>::prepare(database, "jobs"));
        RM_TRY(auto stages, ChildTable<StageSpec>::prepare(database, "stages", "job"));
        RM_TRY(auto attempts, Table<Attempt>::prepare(database, "attempts"));
        RM_TRY(auto placements, ChildTable<RankRecord>::prepare(database, "placements", "epoch"));
        RM_TRY(auto nodes, Table<Node>::prepare(database, "nodes"));
        RM_TRY(auto devices, ChildTable<DeviceInfo>::prepare(database, "devices", "node"));
        RM_TRY(Statement clear_meta, database.prepare("DELETE FROM meta"));
        RM_TRY(Statement event, database.prepare("INSERT INTO events (time, kind, subject, fields) "
                                                 "VALUES (?, ?, ?, ?)"));
        return std::unique_ptr<Store>(new ControlStore(
            {std::move(database), std::move(meta), std::move(jobs), std::move(stages),
             std::move(attempts), std::move(placements), std::move(nodes), std::move(devices),
             std::move(clear_meta), std::move(event)},
            space));
    }

    Result<State> load() override {
        State state;
        RM_RETURN_IF_ERROR(t_.meta.each([&](State row) {
            state.cluster = row.cluster;
            state.next_epoch = row.next_epoch;
            state.restored = row.restored;
        }));
        RM_RETURN_IF_ERROR(load_jobs(state));
        RM_RETURN_IF_ERROR(load_attempts(state));
        RM_RETURN_IF_ERROR(load_nodes(state));
        return state;
    }

    // A commit that follows at once finds them free but for a race of microseconds.
    Status wait_for_turn() override {
        RM_RETURN_IF_ERROR(t_.database.execute("BEGIN IMMEDIATE"));
        return t_.database.execute("ROLLBACK");
    }

    Status commit(const State& state, const Changes& changes,
                  const std::vector<Event>& events) override {
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
    Status write(const State& state, const Changes& changes, const std::vector<Event>& events) {
        return t_.database.transaction([&]() -> Status {
            RM_RETURN_IF_ERROR(put_rows(state, changes));
            for (const Event& event : events)
                RM_RETURN_IF_ERROR(put_event(event));
            return {};
        });
    }

    // In this order: statements end before their database.
    struct Parts {
        Database database;
        Table<State> meta;
        Table<Job> jobs;
        ChildTable<StageSpec> stages;
        Table<Attempt> attempts;
        ChildTable<RankRecord> placements;
        Table<Node> nodes;
        ChildTable<DeviceInfo> devices;
        Statement clear_meta;
        Statement event;
    };
    ControlStore(Parts parts, SpaceGuard* space) : t_(std::move(parts)), space_(space) {}

    Status put_rows(const State& state, const Changes& changes) {
        if (changes.meta) {
            RM_RETURN_IF_ERROR(t_.clear_meta.run());
            RM_RETURN_IF_ERROR(t_.meta.put(state));
        }
        for (const JobId& id : changes.jobs) {
            const Job& job = state.jobs.at(id);
            RM_RETURN_IF_ERROR(t_.jobs.put(job));
            RM_RETURN_IF_ERROR(t_.stages.put(encode(id), job.spec.stages));
        }
        for (const Epoch epoch : changes.attempts) {
            const Attempt& attempt = state.attempts.at(epoch);
            RM_RETURN_IF_ERROR(t_.attempts.put(attempt));
            RM_RETURN_IF_ERROR(t_.placements.put(encode(epoch), attempt.ranks));
        }
        for (const NodeId& id : changes.nodes) {
            const Node& node = state.nodes.at(id);
            RM_RETURN_IF_ERROR(t_.nodes.put(node));
            RM_RETURN_IF_ERROR(t_.devices.put(encode(id), node.inventory.devices));
        }
        return {};
    }

    Status put_event(const Event& event) {
        return t_.event.bind(1, event.time.micros)
            .bind(2, event.kind)
            .bind(3, event.subject)
            .bind(4, to_json(event.fields))
            .run();
    }

    // Rows that stand alone, by the member that is their key.
    template <typename Row, typename Map, typename Key>
    static Status load_rows(Table<Row>& table, Map& map, Key Row::*key) {
        return table.each([&](Row row) {
            const Key id = row.*key;
            map.emplace(id, std::move(row));
        });
    }
    // Ordered children, each appended to the list that `list_of` finds in its owner.
    template <typename Row, typename Map, typename ListOf>
    static Status load_children(ChildTable<Row>& table, Map& owners, const ListOf& list_of) {
        return table.each([&](const Value& owner, Row row) -> Status {
            RM_TRY(auto* found, owner_in(owners, owner));
            list_of(*found).push_back(std::move(row));
            return {};
        });
    }

    Status load_jobs(State& state) {
        RM_RETURN_IF_ERROR(load_rows(t_.jobs, state.jobs, &Job::id));
        return load_children(
            t_.stages, state.jobs, [](Job & job) -> auto& { return job.spec.stages; });
    }
    Status load_attempts(State& state) {
        RM_RETURN_IF_ERROR(load_rows(t_.attempts, state.attempts, &Attempt::epoch));
        return load_children(
            t_.placements, state.attempts,
            [](Attempt & attempt) -> auto& { return attempt.ranks; });
    }
    Status load_nodes(State& state) {
        RM_RETURN_IF_ERROR(load_rows(t_.nodes, state.nodes, &Node::id));
        return load_children(
            t_.devices, state.nodes, [](Node & node) -> auto& { return node.inventory.devices; });
    }

    Parts t_;
    SpaceGuard* const space_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_control_store(const std::string& path, SpaceGuard* space) {
    return ControlStore::open(path, space);
}

Result<std::vector<Event>> read_events(const std::string& path) {
    RM_TRY(Database database, Database::open(path, Access::read));
    RM_TRY(Statement rows,
           database.prepare("SELECT seq, time, kind, subject, key, value, type FROM events, "
                            "json_each(fields) ORDER BY seq, json_each.id"));
    std::vector<Event> events;
    std::int64_t last = -1;
    while (true) {
        RM_TRY(const bool more, rows.step());
        if (!more) return events;
        if (rows.whole(0) != last) {
            last = rows.whole(0);
            events.push_back({{rows.whole(1)}, rows.text(2), rows.text(3), {}});
        }
        Field field{rows.text(4), std::nullopt};
        if (rows.text(6) != "null") field.value = rows.text(5);
        events.back().fields.push_back(std::move(field));
    }
}

}  // namespace rm
