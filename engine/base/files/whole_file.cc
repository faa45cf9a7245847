#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <rpcrdma/base/whole_file.h>
#include <rpcrdma/base/write_all.h>

namespace rpcrdma::base {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10;
constexpr int kTries = 100;  // of random names

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A hidden name, of which no ending makes a program read it.
std::string random_name(const std::string& folder) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) return {};
  return fmt::format("{}/.rpcrdma-{:016x}", folder, number);
}

// Descriptors of this process: to rename a file over their names would not write to them.
bool is_descriptor(const std::string& path) {
  return path.starts_with("/proc/") || path.starts_with("/dev/fd/") || path.starts_with("/dev/std");
}

bool permits(const std::string& path, int how) {
  return ::faccessat(AT_FDCWD, path.c_str(), how, AT_EACCESS) == 0;
}

// Some file systems cannot force a directory to the disk.
void sync_folder(const std::string& file) {
  const FileDescriptor folder(::open(folder_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0) ::fsync(folder.get());
}

// Calls `make` with random names until one is free. Returns an errno, or 0.
template <typename Make>
int with_random_name(const std::string& folder, std::string& name, Make&& make) {
  for (int i = 0; i < kTries; ++i) {
    name = random_name(folder);
    if (name.empty()) return EIO;
    if (make(name)) return 0;
    if (errno != EEXIST) break;
  }
  const int error = errno;
  name.clear();
  return error;
}

}  // namespace

WholeFile::WholeFile(std::string path, const WholeFileOptions& options)
    : path_(std::move(path)), options_(options), target_(path_) {}

WholeFile::WholeFile(WholeFile&& other) noexcept
    : path_(std::move(other.path_)),
      options_(other.options_),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      in_place_(std::exchange(other.in_place_, false)),
      fd_(std::move(other.fd_)),
      buffer_(std::move(other.buffer_)),
      error_(other.error_) {}

WholeFile& WholeFile::operator=(WholeFile&& other) noexcept {
  discard();
  path_ = std::move(other.path_);
  options_ = other.options_;
  target_ = std::move(other.target_);
  temporary_ = std::exchange(other.temporary_, {});
  in_place_ = std::exchange(other.in_place_, false);
  fd_ = std::move(other.fd_);
  buffer_ = std::move(other.buffer_);
  error_ = other.error_;
  return *this;
}

WholeFile::~WholeFile() {
  discard();
}

Expected<WholeFile> WholeFile::create(std::string path, const WholeFileOptions& options) {
  WholeFile file(std::move(path), options);
  if (const int error = file.open(); error != 0) {
    return fail(fmt::format("{}: {}", file.path_, std::strerror(error)));
  }
  return file;
}

int WholeFile::open() {
  struct stat status {};
  if (options_.existing == Existing::kRefuse && ::lstat(path_.c_str(), &status) == 0) return EEXIST;
  if (options_.existing != Existing::kReplace) return open_beside();
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return EISDIR;
  if (is_descriptor(path_) || (exists && !S_ISREG(status.st_mode))) return open_in_place();
  if (exists) {
    char* const real = ::realpath(path_.c_str(), nullptr);
    if (real != nullptr) target_ = real;
    std::free(real);
    // As for a file that is opened to be written.
    if (!permits(target_, W_OK)) return errno;
  }
  const int error = open_beside();
  const bool no_other = error == EACCES || error == EPERM || error == EROFS;
  return exists && no_other ? open_in_place() : error;
}

int WholeFile::open_in_place() {
  in_place_ = true;
  fd_ = FileDescriptor(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, options_.mode));
  return fd_.get() < 0 ? errno : 0;
}

int WholeFile::open_beside() {
  const std::string folder = folder_of(target_);
  // Without a name nothing is left when the process is killed. The name is given through /proc.
  if (permits("/proc/self/fd", X_OK)) {
    fd_ = FileDescriptor(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, options_.mode));
    if (fd_.get() >= 0) return 0;
  }
  // Not all file systems have unnamed files.
  return with_random_name(folder, temporary_, [&](const std::string& name) {
    fd_ = FileDescriptor(
        ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, options_.mode));
    return fd_.get() >= 0;
  });
}

void WholeFile::write(std::string_view bytes) {
  if (error_ != 0) return;
  buffer_ += bytes;
  if (buffer_.size() >= kBufferBytes) flush();
}

void WholeFile::flush() {
  if (error_ == 0) error_ = write_all(fd_.get(), buffer_).error;
  buffer_.clear();
}

void WholeFile::take_over_permissions() const {
  struct stat old {};
  struct stat now {};
  if (options_.existing != Existing::kReplace || ::stat(target_.c_str(), &old) != 0 ||
      ::fstat(fd_.get(), &now) != 0) {
    return;
  }
  if (old.st_uid != now.st_uid || old.st_gid != now.st_gid) {
    [[maybe_unused]] const int owned = ::fchown(fd_.get(), old.st_uid, old.st_gid);
  }
  [[maybe_unused]] const int changed = ::fchmod(fd_.get(), old.st_mode & 0777);
}

int WholeFile::give_name() {
  const std::string unnamed = fmt::format("/proc/self/fd/{}", fd_.get());
  const auto link_as = [&](const std::string& name) {
    return ::linkat(AT_FDCWD, temporary_.empty() ? unnamed.c_str() : temporary_.c_str(), AT_FDCWD,
                    name.c_str(), temporary_.empty() ? AT_SYMLINK_FOLLOW : 0) == 0;
  };
  if (options_.existing == Existing::kRefuse) return link_as(target_) ? 0 : errno;
  std::string named = temporary_;
  if (named.empty()) {
    if (const int error = with_random_name(folder_of(target_), named, link_as); error != 0) {
      return error;
    }
    temporary_ = named;
  }
  if (::rename(named.c_str(), target_.c_str()) != 0) return errno;
  temporary_.clear();
  return 0;
}

Expected<void> WholeFile::finish() {
  flush();
  if (error_ == 0 && !in_place_) take_over_permissions();
  if (error_ == 0 && options_.to_disk && !in_place_ && ::fsync(fd_.get()) != 0) error_ = errno;
  if (error_ == 0) error_ = late_write_error(fd_.get());
  if (error_ == 0 && !in_place_) error_ = give_name();
  if (error_ != 0) {
    discard();
    return fail(fmt::format("{}: {}", path_, std::strerror(error_)));
  }
  fd_.reset();
  if (options_.to_disk && !in_place_) sync_folder(target_);
  return {};
}

void WholeFile::discard() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
  // Not to look whole. A pipe has no size.
  if (in_place_ && !is_descriptor(path_) && fd_.get() >= 0) {
    [[maybe_unused]] const int emptied = ::ftruncate(fd_.get(), 0);
  }
  fd_.reset();
}

Expected<void> write_whole(std::string path, const std::function<void(const Write&)>& produce,
                           const WholeFileOptions& options) {
  auto file = WholeFile::create(std::move(path), options);
  if (!file) return tl::unexpected(file.error());
  produce([&](std::string_view bytes) { file->write(bytes); });
  return file->finish();
}

}  // namespace rpcrdma::base
