#include "cli/verb.h"

namespace rm {

// The file with the verb's name defines each.
Verb audit_verb(), backup_verb(), cancel_verb(), continue_verb(), data_verb(), diff_verb(),
    doctor_verb(), drain_verb(), eval_verb(), explain_verb(), export_verb(), export_curves_verb(),
    fleet_verb(), follow_verb(), history_verb(), init_verb(), links_verb(), logs_verb(), ls_verb(),
    man_verb(), node_verb(), nodes_verb(), pki_verb(), place_verb(), placement_verb(), plan_verb(),
    plot_verb(), recipe_verb(), restore_verb(), resume_verb(), sample_verb(), schema_verb(),
    show_verb(), slurm_verb(), submit_verb(), survey_verb(), token_verb(), top_verb(), up_verb(),
    version_verb(), wait_verb(), web_verb();

std::vector<VerbGroup> verb_table() {
    return {{"Jobs",
             {recipe_verb(), plan_verb(),   submit_verb(),  continue_verb(), follow_verb(),
              wait_verb(),   ls_verb(),     show_verb(),    explain_verb(),  placement_verb(),
              logs_verb(),   cancel_verb(), history_verb(), diff_verb(),     top_verb(),
              plot_verb(),   sample_verb(), eval_verb(),    export_verb(),   export_curves_verb()}},
            {"Nodes and links",
             {nodes_verb(), drain_verb(), resume_verb(), node_verb(), fleet_verb(), links_verb(),
              survey_verb(), place_verb()}},
            {"Data", {data_verb()}},
            {"Operation",
             {up_verb(), slurm_verb(), init_verb(), token_verb(), web_verb(), doctor_verb(),
              audit_verb(), backup_verb(), restore_verb(), pki_verb()}},
            {"This program", {man_verb(), schema_verb(), version_verb()}}};
}

}  // namespace rm
