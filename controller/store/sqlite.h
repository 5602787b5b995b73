#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "controller/core/fields.h"

struct sqlite3;
struct sqlite3_stmt;

// Wraps SQLite in owning types and Results. Only one thread at a time may use a connection.
namespace rm {

class Statement {
public:
    // Parameters from 1.
    Statement& bind(int index, const Value& value);
    Statement& bind_blob(int index, std::string_view bytes);
    // All parameters, from the first.
    template <typename... Args>
    Statement& bind_all(const Args&... args) {
        int index = 1;
        (bind(index++, encode(args)), ...);
        return *this;
    }
    // True: a row is there; false: done. The statement starts over after done or reset().
    Result<bool> step();
    // For statements without rows: runs to the end and resets.
    Status run();
    void reset();

    Value column(int index) const;  // NULL reads as an empty text
    std::int64_t whole(int index) const;
    double number(int index) const;
    std::string text(int index) const;  // also bytes of a blob

private:
    friend class Database;
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// full: survives a power cut. normal: may lose the last transactions then.
enum class Durability { full, normal };
enum class Access { write, read };

class Database {
public:
    static Result<Database> open(const std::string& path, Access access);

    Status execute(const std::string& sql);  // any number of statements
    Result<Statement> prepare(const std::string& sql);
    Result<int> user_version();
    // A consistent copy while others may write.
    Status backup_to(const std::string& path);
    Status begin() { return execute("BEGIN IMMEDIATE"); }
    void roll_back() { static_cast<void>(execute("ROLLBACK").ok()); }
    // Runs `body` between begin() and COMMIT; rolls back when it fails.
    template <typename F>
    Status transaction(F&& body) {
        RM_RETURN_IF_ERROR(begin());
        return finish(body);
    }
    // The same after begin().
    template <typename F>
    Status finish(F&& body) {
        Status status = body();
        if (status) status = execute("COMMIT");
        if (!status) roll_back();
        return status;
    }

private:
    struct Close {
        void operator()(sqlite3* database) const;
    };
    Database(sqlite3* database, std::string path) : database_(database), path_(std::move(path)) {}
    Error error(std::string_view doing) const;

    std::unique_ptr<sqlite3, Close> database_;
    std::string path_;
};

// The columns of each table, each with its value in rows that were written without it.
using TableColumns = std::map<std::string, std::map<std::string, Value>>;

// The database that a program expects.
struct Schema {
    std::span<const char* const> migrations;  // [i] leads from version i to i + 1
    TableColumns columns = {};                // of tables that get their columns on opening
};

// FAILED_PRECONDITION: the file is of a newer version, or has a column that `schema` lacks. Touches
// nothing.
Status check_not_newer(const std::string& path, const Schema& schema);

// Opens (or makes) a database in WAL mode and brings it to the newest schema: the migrations, then
// the columns that its tables lack. Each migration of an existing database is preceded by a backup
// beside it, "<path>.before-<version>", and so is the addition of columns:
// "<path>.before-<table>.<column>". A newer database is refused untouched.
Result<Database> open_migrated(const std::string& path, const Schema& schema,
                               Durability durability);

}  // namespace rm
