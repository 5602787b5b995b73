#include "engine/checkpoint/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace rm {
namespace {

ErrorCode code_of(int number) {
    if (number == EACCES || number == EPERM || number == EROFS) return ErrorCode::permission_denied;
    if (number == ENOENT) return ErrorCode::not_found;
    if (number == EEXIST) return ErrorCode::already_exists;
    return ErrorCode::unavailable;
}

}  // namespace

Error os_error(std::string_view action, const std::string& path, int number) {
    return make_error(code_of(number), "cannot {} {}: {}", action, path,
                      std::generic_category().message(number));
}

Result<DurableFile> DurableFile::create(const std::string& path, Faults& faults) {
    faults.pass("checkpoint.create");
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!fd) return os_error("create", path, errno);
    return DurableFile(path, std::move(fd), faults);
}

Status DurableFile::write(std::span<const std::byte> bytes) {
    if (faults_->fires("checkpoint.full")) return os_error("write", path_, ENOSPC);
    const bool dies = faults_->fires("checkpoint.write");
    const auto part = dies ? bytes.first(bytes.size() / 2) : bytes;
    if (!write_all(fd_.get(), part)) return os_error("write", path_, errno);
    if (dies) throw InjectedFault("injected fault at checkpoint.write");
    return {};
}

Status DurableFile::finish() {
    faults_->pass("checkpoint.fsync");
    if (::fsync(fd_.get()) != 0) return os_error("fsync", path_, errno);
    // Network file systems report late write errors here.
    if (::close(fd_.release()) != 0) return os_error("close", path_, errno);
    return {};
}

Status write_durable_file(const std::string& path, std::string_view text, Faults& faults) {
    RM_TRY(DurableFile file, DurableFile::create(path, faults));
    RM_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(text))));
    return file.finish();
}

Status make_directories(const std::string& path) {
    std::error_code failure;
    std::filesystem::create_directories(path, failure);
    if (failure) return os_error("create directory", path, failure.value());
    return {};
}

Status remove_file(const std::string& path, Faults& faults) {
    faults.pass("checkpoint.remove");
    if (::unlink(path.c_str()) != 0) return os_error("remove", path, errno);
    return {};
}

Status remove_tree(const std::string& path, Faults& faults) {
    faults.pass("checkpoint.remove");
    std::error_code failure;
    std::filesystem::remove_all(path, failure);
    if (failure) return os_error("remove", path, failure.value());
    return {};
}

Status sync_directory(const std::string& path, Faults& faults) {
    faults.pass("checkpoint.fsync");
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return os_error("open", path, errno);
    if (::fsync(fd.get()) != 0) return os_error("fsync", path, errno);
    return {};
}

Status rename_path(const std::string& from, const std::string& to, Faults& faults) {
    faults.pass("checkpoint.rename");
    if (::rename(from.c_str(), to.c_str()) != 0)
        return os_error("rename " + from + " to", to, errno);
    return {};
}

Status replace_directory(const std::string& from, const std::string& to, Faults& faults) {
    std::error_code failure;
    if (!std::filesystem::exists(to, failure)) return rename_path(from, to, faults);
    faults.pass("checkpoint.rename");
    std::string old = from;
    if (faults.fires("checkpoint.exchange") ||
        ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0) {
        old = from + ".replaced";
        RM_RETURN_IF_ERROR(rename_path(to, old, faults));
        RM_RETURN_IF_ERROR(rename_path(from, to, faults));
    }
    return remove_tree(old, faults);
}

Result<std::string> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return os_error("read", path, errno);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (file.bad()) return os_error("read", path, EIO);
    return text;
}

Result<std::vector<std::string>> names_in(const std::string& dir) {
    std::vector<std::string> names;
    std::error_code failure;
    std::filesystem::directory_iterator at(dir, failure);
    for (; !failure && at != std::filesystem::directory_iterator(); at.increment(failure))
        names.push_back(at->path().filename().string());
    if (failure) return os_error("list", dir, failure.value());
    return names;
}

Result<FileReader> FileReader::open(const std::string& path) {
    FileReader reader(path, UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)));
    if (!reader.fd_) return os_error("open", path, errno);
    struct stat info {};
    if (::fstat(reader.fd_.get(), &info) != 0) return os_error("read", path, errno);
    if (!S_ISREG(info.st_mode)) return invalid_argument("{} is not a regular file", path);
    reader.size_ = info.st_size;
    return reader;
}

Status FileReader::read(std::int64_t at, std::span<std::byte> out) const {
    const std::int64_t got = read_at(fd_.get(), at, out);
    if (got == std::ssize(out)) return {};
    if (got < 0) return os_error("read", path_, errno);
    return data_loss("{} ends at byte {}, {} bytes early", path_, at + got, std::ssize(out) - got);
}

}  // namespace rm
