#include "worker/roots/file_checks.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "engine/hf/directory.h"
#include "worker/dir/files.h"
#include "worker/roots/root_directory.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

Status check_same_device(const FoundPath& found) {
    struct stat there {
    }, top{};
    if (::stat(found.exists.c_str(), &there) != 0 || ::stat(found.top.c_str(), &top) != 0) {
        return invalid_argument("{}", std::strerror(errno));
    }
    if (there.st_dev == top.st_dev) return {};
    return invalid_argument(
        "{} is another file system than root {}, whose sharing was measured; declare it as a root "
        "of its own",
        found.exists, found.root);
}

Status check_directory(const std::string& path) {
    std::error_code failed;
    if (!fs::is_directory(path, failed)) {
        if (failed) return system_error("cannot look at", path, failed.value());
        return invalid_argument("{} is not a directory", path);
    }
    if (::access(path.c_str(), W_OK | X_OK) == 0) return {};
    return invalid_argument("{} cannot be written: {}", path, std::strerror(errno));
}

Status read_facts(const std::vector<DeclaredRoot>& roots, const FoundPath& found,
                  IndexHashes& hashes, FileFacts& facts) {
    RM_TRY(facts.index, hashes.of(roots, found));
    if (facts.use != FileUse::model) return {};
    RM_TRY(const HfConfig config, read_hf_config(found.path()));
    facts.parameters = config.model.num_parameters();
    return {};
}

Status write_facts(const FoundPath& found, FileFacts& facts) {
    std::string directory = found.exists;
    if (facts.use == FileUse::exports) {
        // An export is put in place by a rename in the parent directory.
        if (found.below.empty()) return invalid_argument("is a root; name a directory below it");
        if (found.is_there()) directory = fs::path(directory).parent_path().string();
    }
    RM_RETURN_IF_ERROR(check_directory(directory));
    RM_RETURN_IF_ERROR(check_same_device(found));
    facts.free = free_space(directory);
    return {};
}

FileFacts check_file(const std::vector<DeclaredRoot>& roots, const FileWanted& wanted,
                     IndexHashes& hashes) {
    FileFacts facts{.use = wanted.use, .path = wanted.path};
    const Result<FoundPath> found = find_path(roots, wanted.path);
    if (!found) {
        facts.problem = found.error().message;
        return facts;
    }
    facts.root = found->root;
    facts.below = found->below;
    const Status good = is_written(wanted.use) ? write_facts(*found, facts)
                                               : read_facts(roots, *found, hashes, facts);
    if (!good) facts.problem = good.error().message;
    return facts;
}

}  // namespace

FilesChecked check_files(const std::vector<DeclaredRoot>& roots, const CheckFiles& check,
                         IndexHashes& hashes) {
    FilesChecked checked{.key = check.key};
    for (const FileWanted& wanted : check.files)
        checked.files.push_back(check_file(roots, wanted, hashes));
    return checked;
}

}  // namespace rm
