#pragma once

#include <string>
#include <vector>

#include "base/format.h"
#include "cli/document.h"
#include "cli/job_tables.h"
#include "cli/signals.h"
#include "cli/verb.h"

namespace rm {

// Messages with an id in the format the user asked for; `table(detail)` makes the table.
template <typename Message, typename MakeTable>
void print_list(const Output& out, OutputFormat format, const std::vector<Message>& messages,
                const MakeTable& table) {
    switch (format) {
        case OutputFormat::table:
        case OutputFormat::csv:
            table(Detail::usual).print(out);
            return;
        case OutputFormat::wide:
            table(Detail::wide).print(out);
            return;
        case OutputFormat::json:
            print_documents(out.stream, messages, DocumentFormat::json);
            return;
        case OutputFormat::yaml:
            print_documents(out.stream, messages, DocumentFormat::yaml);
            return;
        case OutputFormat::name:
            for (const Message& message : messages)
                out.stream << out.data(rm::format("{}", message.id())) << '\n';
            return;
    }
}

// One message: its id for `name` and the tables.
template <typename Message>
void print_one(const Output& out, OutputFormat format, const Message& message) {
    if (format == OutputFormat::json || format == OutputFormat::yaml) {
        print_document(out.stream, message, document_format(format));
        return;
    }
    out.stream << out.data(rm::format("{}", message.id())) << '\n';
}

// One document for one message, a list for several; or their ids.
template <typename Message>
void print_each(const Output& out, OutputFormat format, const std::vector<Message>& messages) {
    const bool is_document = format == OutputFormat::json || format == OutputFormat::yaml;
    if (is_document && messages.size() != 1) {
        print_documents(out.stream, messages, document_format(format));
        return;
    }
    for (const Message& message : messages)
        print_one(out, format, message);
}

// Follows a job until it ends and exits with its result; Ctrl-C detaches, says how to cancel, and
// returns `interrupted`.
Result<ExitCode> follow_job(const std::string& id, Client& client, Signals& signals,
                            VerbContext& context);

// Prints a new job: its id, or the job in the format that the user asked for.
Status print_new_job(const std::string& id, OutputFormat format, Client& client,
                     VerbContext& context);

}  // namespace rm
