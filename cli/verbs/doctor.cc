#include "cli/doctor/checks.h"
#include "cli/doctor/facts.h"
#include "cli/doctor/installed.h"
#include "cli/document.h"
#include "cli/show/text.h"
#include "cli/verb.h"
#include "options/version.h"
#include "spec/session.h"

namespace rm {
namespace {

struct DoctorOptions : VerbOptions {
    OutputFormat output = add_output(output, "table|json|yaml");
};

constexpr int kFirstDataPort = 7080;
constexpr int kLastDataPort = 7199;

std::vector<Check> examine(const VerbContext& context) {
    const DriverFacts driver = driver_facts();
    const ControllerFacts controller = controller_facts(context);
    const TargetFlags& target = context.target;
    const std::string state_dir =
        target.state_dir.empty() ? user_dir(environment_lookup, "XDG_STATE_HOME", ".local/state")
                                 : target.state_dir;
    std::vector<Check> checks = {check_programs(missing_programs()),
                                 check_driver(driver),
                                 check_gpus(gpu_conditions()),
                                 check_cuda_runtime(cuda_runtime_facts(), driver),
                                 check_nccl(nccl_facts()),
                                 check_cuda_library(cuda_library_facts(), driver),
                                 check_controller(controller),
                                 check_telemetry(controller),
                                 check_clock(controller),
                                 check_port(port_facts(7070, "the controller's gRPC")),
                                 check_port(port_facts(7071, "the controller's HTTP")),
                                 check_port(port_facts(7072, "a worker's HTTP")),
                                 check_data_ports(kFirstDataPort, kLastDataPort,
                                                  num_free_ports(kFirstDataPort, kLastDataPort)),
                                 check_disk(disk_facts(state_dir)),
                                 check_memory_lock(memory_lock_limit(), driver),
                                 check_open_files(open_files_limit())};
    for (Check& check : check_installed(installed_facts()))
        checks.push_back(std::move(check));
    return checks;
}

Color color_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::ok:
            return Color::green;
        case Verdict::warn:
            return Color::yellow;
        case Verdict::fail:
            return Color::red;
    }
    return Color::none;
}

// "ok    disk           40 GiB of 80 GiB free", the remedy below, both wrapped to the terminal.
void print_check(const Output& out, const Check& check) {
    constexpr std::size_t kIndent = 23;
    const auto columns = usize(std::max(out.width, 60));
    const std::size_t width = out.terminal ? columns - kIndent : 0;
    const std::string verdict = format("{:<4}", to_string(check.verdict));
    print_hanging(out,
                  format("{}  {:<15}  ", out.paint(verdict, color_of(check.verdict)), check.name),
                  kIndent, check.text, width);
    print_hanging(out, std::string(kIndent, ' ') + "-> ", kIndent + 3, check.remedy,
                  width > 3 ? width - 3 : 0);
}

Result<ExitCode> run_doctor(const DoctorOptions& options, VerbContext& context) {
    const std::vector<Check> checks = examine(context);
    const Output& out = context.console.out;
    if (options.output == OutputFormat::table) {
        out.stream << format("ringmaster {} (protocol {})\n", version(), kProtocol);
        for (const Check& check : checks)
            print_check(out, check);
    } else {
        print_json(out.stream, checks_json(checks), options.output);
    }
    return worst(checks) == Verdict::fail ? ExitCode::error : ExitCode::ok;
}

}  // namespace

Verb doctor_verb() {
    return verb_of(
        "doctor", "Check this machine and its connection to the controller", run_doctor,
        {{"ringmaster doctor --address controller.lab:7070 --ca ca.crt", "a remote controller"}});
}

}  // namespace rm
