// Claims are locks of files, which the kernel releases when their process ends, also on NFS. They
// only save work: reports are renamed into their place, so two processes that analyze one unit
// replace a report by its equal.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/batch/folder.h>
#include <rpcrdma/batch/whole_file.h>

namespace rpcrdma::batch {

namespace {

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

}  // namespace

base::Expected<Claim> Claim::take(const std::string& path) {
  Claim claim;
  claim.path_ = path;
  claim.fd_ = base::FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (claim.fd_.get() < 0) return base::fail(fmt::format("{}: {}", path, std::strerror(errno)));
  if (::flock(claim.fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    claim.taken_ = errno == EWOULDBLOCK ? Taken::kBusy : Taken::kUnsupported;
    return claim;
  }
  struct stat status {};
  if (::fstat(claim.fd_.get(), &status) == 0) {
    claim.abandoned_ = static_cast<std::size_t>(status.st_size);
  }
  // A byte for each process that took it.
  const bool counted =
      ::lseek(claim.fd_.get(), 0, SEEK_END) >= 0 && ::write(claim.fd_.get(), "+", 1) == 1;
  if (!counted) return base::fail(fmt::format("{}: {}", path, std::strerror(errno)));
  return claim;
}

void Claim::give_back() {
  ::unlink(path_.c_str());
  fd_.reset();
}

Folder::Folder(const std::string& path) {
  std::error_code error;
  path_ = std::filesystem::absolute(path, error).lexically_normal().string();
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
}

base::Expected<void> Folder::create() const {
  for (const std::string& folder : {file("units"), logs()}) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return base::fail(fmt::format("{}: {}", folder, error.message()));
  }
  return {};
}

base::Expected<void> Folder::clear() const {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(file("units"), error)) {
    if (entry.path().extension() != ".claim") continue;
    const auto claim = Claim::take(entry.path().string());
    if (claim && claim->taken() == Claim::Taken::kBusy) {
      return base::fail(fmt::format("{}: a process still works on a unit", path_));
    }
  }
  for (const std::string& name :
       {plan(), report(), damaged(), file("summary.json"), logs(), file("units")}) {
    std::filesystem::remove_all(name, error);
    if (error) return base::fail(fmt::format("{}: {}", name, error.message()));
  }
  return {};
}

std::string Folder::of_unit(std::size_t unit, const char* ending) const {
  return fmt::format("{}/units/{:04}{}", path_, unit + 1, ending);
}

bool Folder::has_plan() const {
  return exists(plan());
}

bool Folder::done(std::size_t unit) const {
  return exists(this->unit(unit));
}

base::Expected<Plan> Folder::read_plan() const {
  const auto text = read_whole(plan());
  if (!text) return tl::unexpected(text.error());
  auto plan = batch::read_plan(*text);
  if (!plan) return base::fail(fmt::format("{}: {}", this->plan(), plan.error().message));
  return plan;
}

std::vector<std::size_t> Folder::undone(const Plan& plan) const {
  std::vector<std::size_t> units;
  for (std::size_t i = 0; i < plan.units.size(); ++i) {
    if (!done(i)) units.push_back(i);
  }
  return units;
}

}  // namespace rpcrdma::batch
