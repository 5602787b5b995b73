#pragma once

#include <string>
#include <vector>

#include "base/format.h"
#include "cli/client/signals.h"
#include "cli/document.h"
#include "cli/show/job_tables.h"
#include "cli/verb.h"

namespace rm {

// Prints messages with an id in the user's format; `table(detail)` makes the table.
template <typename Message, typename MakeTable>
void print_list(const Output& out, OutputFormat format, const std::vector<Message>& messages,
                const MakeTable& table) {
    if (is_document(format)) return print_documents(out.stream, messages, format);
    if (format != OutputFormat::name)
        return table(format == OutputFormat::wide ? Detail::wide : Detail::usual).print(out);
    for (const Message& message : messages)
        out.stream << out.data(rm::format("{}", message.id())) << '\n';
}

// Prints a reply as a document, or calls `print` for the other formats.
template <typename Print>
void print_reply(const Output& out, OutputFormat format, const google::protobuf::Message& reply,
                 const Print& print) {
    if (is_document(format)) return print_document(out.stream, reply, format);
    print();
}

// Prints one message as a document; as its id for the other formats.
template <typename Message>
void print_one(const Output& out, OutputFormat format, const Message& message) {
    if (is_document(format)) return print_document(out.stream, message, format);
    out.stream << out.data(rm::format("{}", message.id())) << '\n';
}

// Prints one document for one message, a list for several; or their ids.
template <typename Message>
void print_each(const Output& out, OutputFormat format, const std::vector<Message>& messages) {
    if (is_document(format) && messages.size() != 1)
        return print_documents(out.stream, messages, format);
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
