#include "cli/command_table.h"
#include "options/checks.h"

namespace rm {
namespace {

void add_data_verbs(Verbs& verbs, AllOptions& all) {
    CLI::App& data = verbs.add_group("data", "Prepare data to train on");
    CLI::App& prepare = verbs.add_below(data, "prepare",
                                        "Tokenize text once, into a Megatron data set (.bin, .idx)",
                                        all.prepare_data);
    prepare
        .add_option("INPUT", all.prepare_data.inputs, "Directories or files of text or JSON Lines")
        ->required();
    prepare
        .add_option("--tokenizer", all.prepare_data.tokenizer,
                    "bytes, or a tokenizer.json or its directory")
        ->type_name("PATH|bytes")
        ->required();
    prepare.add_option("--output", all.prepare_data.output, "Write PREFIX.bin and PREFIX.idx")
        ->type_name("PREFIX")
        ->required();
    prepare.add_option("--format", all.prepare_data.format, "Format of the input [auto]")
        ->type_name("auto|text|jsonl")
        ->check(one_of({"auto", "text", "jsonl"}));
    prepare.add_option("--jobs", all.prepare_data.num_threads, "Threads [one per core]")
        ->type_name("N")
        ->check(whole_number(1, 1024));
}

void add_directory(CLI::App& verb, std::string& directory) {
    verb.add_option("--dir", directory, "The authority's directory")->type_name("DIR")->required();
}

void add_days(CLI::App& verb, int& days, const char* help) {
    verb.add_option("--days", days, help)->type_name("N")->check(whole_number(1, 36'500));
}

void add_pki_issue(Verbs& verbs, CLI::App& pki, PkiIssueOptions& options) {
    CLI::App& issue = verbs.add_below(pki, "issue", "Issue a certificate", options);
    add_directory(issue, options.directory);
    issue.add_option("--role", options.role, "Role of its holder")
        ->type_name("viewer|submitter|admin|worker|server")
        ->check(one_of({"viewer", "submitter", "admin", "worker", "server"}))
        ->required();
    issue
        .add_option("--name", options.name,
                    "Name of its holder; of a worker the node's id, or a prefix of it and *")
        ->type_name("NAME")
        ->required();
    issue
        .add_option("--san", options.subject_names,
                    "A host name or address that a server answers to; may be given several times")
        ->type_name("NAME");
    add_days(issue, options.days, "Days until it expires [365]");
    issue.add_option("-o,--output", options.output, "Write PREFIX.crt and PREFIX.key")
        ->type_name("PREFIX")
        ->required();
}

void add_pki_verbs(Verbs& verbs, AllOptions& all) {
    CLI::App& pki =
        verbs.add_group("pki", "Make certificates and tokens, as files (docs/security.md)");
    CLI::App& init = verbs.add_below(pki, "init", "Make a certificate authority", all.pki_init);
    add_directory(init, all.pki_init.directory);
    init.add_option("--name", all.pki_init.name, "Its name [ringmaster]")->type_name("NAME");
    add_days(init, all.pki_init.days, "Days until it expires [3650]");

    add_pki_issue(verbs, pki, all.pki_issue);

    CLI::App& revoke =
        verbs.add_below(pki, "revoke", "Put a certificate on the deny list", all.pki_revoke);
    add_directory(revoke, all.pki_revoke.directory);
    revoke.add_option("CERTIFICATE", all.pki_revoke.certificate, "Its serial, or its file")
        ->required();

    CLI::App& token =
        verbs.add_below(pki, "token", "Make a token: print it once, keep its hash", all.pki_token);
    add_directory(token, all.pki_token.directory);
    token.add_option("--role", all.pki_token.role, "Role of its holder")
        ->type_name("viewer|submitter|admin")
        ->check(one_of({"viewer", "submitter", "admin"}))
        ->required();
    token.add_option("--name", all.pki_token.name, "Name of its holder")
        ->type_name("NAME")
        ->required();
    add_days(token, all.pki_token.days, "Days until it expires [until it is removed]");
    token
        .add_option("-o,--output", all.pki_token.output,
                    "Write it to FILE, which only its owner can read [print it]")
        ->type_name("FILE");
}

void add_up_verb(Verbs& verbs, UpOptions& options) {
    CLI::App& up =
        verbs.add("up", "Run a cluster on this machine: a controller and workers", options);
    up.add_option("--workers", options.num_workers, "How many workers [4]")
        ->type_name("N")
        ->check(whole_number(1, 64));
    up.add_option("--devices-per-worker", options.devices_per_worker, "CPU devices of each [1]")
        ->type_name("N")
        ->check(whole_number(1, 64));
    up.add_option("--job", options.job_file, "Run this job file until it ends, then stop")
        ->type_name("FILE");
    up.add_option("--state", options.state_dir,
                  "Keep everything in this directory; restart the cluster that is there")
        ->type_name("DIR");
    up.add_option("--listen", options.listen,
                  "gRPC on this loopback address too (port 0: any free one), and HTTP on the port "
                  "after it")
        ->type_name("HOST:PORT");
    up.add_option("--http", options.http, "HTTP on this loopback address")->type_name("HOST:PORT");
}

void add_operator_verbs(Verbs& verbs, AllOptions& all) {
    CLI::App& doctor =
        verbs.add("doctor", "Check this machine and its connection to the controller", all.doctor);
    add_output(doctor, all.doctor.output, {"table", "json", "yaml"});

    CLI::App& audit = verbs.add("audit", "List who did what, and who was refused", all.audit);
    audit.add_flag("--refused", all.audit.refused, "Only what was refused");
    audit.add_option("--since", all.audit.since, "Only since: 30m, 2h, 3d, or a date (UTC)")
        ->type_name("TIME");
    add_output(audit, all.audit.output, {"table", "wide", "json", "yaml"});

    CLI::App& backup =
        verbs.add("backup", "Copy the controller's database while it runs", all.backup);
    backup.add_option("FILE", all.backup.file, "The new copy")->required();
    backup.add_flag("--force", all.backup.force, "Overwrite FILE if it exists");
    add_output(backup, all.backup.output, {"table", "json", "yaml"});
    CLI::App& restore =
        verbs.add("restore", "Restore a backup (the controller must be stopped)", all.restore);
    restore.add_option("FILE", all.restore.file, "The backup")->required();
    restore.add_option("--state", all.restore.state_dir, "The controller's state directory")
        ->type_name("DIR")
        ->required();
    add_pki_verbs(verbs, all);
}

}  // namespace

void add_other_commands(Verbs& verbs, AllOptions& all) {
    verbs.begin_group("Data");
    add_data_verbs(verbs, all);
    verbs.begin_group("Operation");
    add_up_verb(verbs, all.up);
    add_operator_verbs(verbs, all);
    verbs.begin_group("This program");
    CLI::App& man = verbs.add("man", "Print or write the manual pages", all.man);
    man.add_option("DIR", all.man.directory,
                   "Write all pages there; without DIR, ringmaster(1) goes to stdout");
    CLI::App& version = verbs.add("version", "Print the version of this program", all.version);
    add_output(version, all.version.output, {"table", "json", "yaml"});
}

}  // namespace rm
