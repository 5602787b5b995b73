#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/core/columns.h"
#include "controller/store/sqlite.h"

// Rows as tables: columns(row, visit) lists the columns of a row with their names.
namespace rm {

struct ColumnNames {
    std::string names;  // "id, state"
    std::string marks;  // "?, ?"
    int count = 0;
    template <typename T>
    void operator()(std::string_view name, const T&) {
        const char* separator = count++ == 0 ? "" : ", ";
        names.append(separator).append(name);
        marks.append(separator).append("?");
    }
};
template <typename Row>
ColumnNames column_names() {
    ColumnNames names;
    const Row blank;
    columns(blank, names);
    return names;
}

// Binds the columns of `row` to the parameters from `next` on.
template <typename Row>
Statement& bind_row(Statement& statement, const Row& row, int next = 1) {
    columns(row,
            [&](std::string_view, const auto& value) { statement.bind(next++, encode(value)); });
    return statement;
}

// Reads columns from `next` on; the first failure stays.
template <typename Row>
Result<Row> read_row(const Statement& statement, int next = 0) {
    Row row;
    std::optional<Error> error;
    columns(row, [&](std::string_view name, auto& value) {
        const Status status = decode(statement.column(next++), value);
        if (status || error) return;
        error = make_error(ErrorCode::data_loss, "column {}: {}", name, status.error().message);
    });
    if (error) return *error;
    return row;
}

// All rows of a statement that selects column_names<Row>().
template <typename Row>
Result<std::vector<Row>> read_rows(Statement& select) {
    std::vector<Row> rows;
    while (true) {
        RM_TRY(const bool more, select.step());
        if (!more) return rows;
        RM_TRY(Row row, read_row<Row>(select));
        rows.push_back(std::move(row));
    }
}
// `rest` follows the names: "FROM jobs".
template <typename Row>
Result<std::vector<Row>> read_rows(Database& database, std::string_view rest) {
    RM_TRY(Statement select,
           database.prepare(format("SELECT {} {}", column_names<Row>().names, rest)));
    return read_rows<Row>(select);
}

// Writes rows, each replacing the one with the same primary key.
template <typename Row>
Status write_rows(Database& database, std::string_view table, const std::vector<Row>& rows) {
    const ColumnNames names = column_names<Row>();
    RM_TRY(Statement write, database.prepare(format("INSERT OR REPLACE INTO {} ({}) VALUES ({})",
                                                    table, names.names, names.marks)));
    for (const Row& row : rows)
        RM_RETURN_IF_ERROR(bind_row(write, row).run());
    return {};
}

}  // namespace rm
