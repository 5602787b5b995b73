#include "controller/core/handlers.h"
#include "controller/core/questions.h"

namespace rm {

void handle(Step& step, const NodeRoots& input) {
    take_roots(step, input.node, input.report);
}

void handle(Step& step, const NodeFilesChecked& input) {
    take_files(step, input.node, input.checked);
}

void handle(Step& step, const NodeRootProbed& input) {
    take_probed(step, input.node, input.probed);
}

}  // namespace rm
