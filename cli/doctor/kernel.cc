#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <linux/capability.h>
#include <sys/xattr.h>

#include <rpcrdma/base/helper_program.h>
#include <rpcrdma/doctor/kernel.h>

namespace rpcrdma::doctor {

namespace {

// A file that may not be looked at counts as missing.
bool is_here(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::uint8_t rights_of(std::uint64_t capabilities) {
  const auto has = [&](unsigned capability) { return (capabilities >> capability & 1U) != 0; };
  return static_cast<std::uint8_t>((has(CAP_BPF) ? kBpf : 0) | (has(CAP_PERFMON) ? kPerfmon : 0) |
                                   (has(CAP_SYS_ADMIN) ? kSysAdmin : 0));
}

std::uint64_t effective_capabilities(const std::string& root) {
  std::ifstream in(root + "/proc/self/status");
  constexpr const char* kField = "CapEff:\t";
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(kField))
      return std::strtoull(line.c_str() + std::strlen(kField), nullptr, 16);
  }
  return 0;
}

bool has_tracefs(const std::string& root) {
  std::ifstream in(root + "/proc/self/mounts");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string device, folder, type;
    words >> device >> folder >> type;
    if (type == "tracefs") return true;
  }
  return false;
}

// "none [integrity] confidentiality": the word in brackets.
std::string chosen(const std::string& line) {
  const std::size_t begin = line.find('[');
  const std::size_t end = line.find(']');
  return begin == std::string::npos || end == std::string::npos || end < begin
             ? ""
             : line.substr(begin + 1, end - begin - 1);
}

}  // namespace

Kernel look_at_kernel(const std::string& root) {
  Kernel k;
  k.release = first_line(root + "/proc/sys/kernel/osrelease");
  k.btf = is_here(root + "/sys/kernel/btf/vmlinux");
  k.module_btf = is_here(root + "/sys/kernel/btf/rpcrdma");
  k.rpcrdma = is_here(root + "/sys/module/rpcrdma");
  k.nfs = is_here(root + "/sys/module/nfs");
  k.nfsd = is_here(root + "/sys/module/nfsd");
  k.tracefs = has_tracefs(root);
  k.lockdown = chosen(first_line(root + "/sys/kernel/security/lockdown"));
  k.rights = rights_of(effective_capabilities(root));
  return k;
}

KernelProgram find_kernel_program() {
  KernelProgram program;
  const auto path = base::find_helper_program("rpcrdma-kernel");
  if (!path) {
    program.why = path.error().message;
    return program;
  }
  program.path = *path;
  std::array<char, sizeof(vfs_ns_cap_data)> value{};
  const ssize_t size = ::getxattr(path->c_str(), "security.capability", value.data(), value.size());
  if (size > 0) {
    program.rights = rights_of_attribute({value.data(), static_cast<std::size_t>(size)});
  }
  return program;
}

std::uint8_t rights_of_attribute(const std::string& value) {
  vfs_ns_cap_data data{};
  std::memcpy(&data, value.data(), std::min(value.size(), sizeof data));
  const std::uint32_t revision = data.magic_etc & VFS_CAP_REVISION_MASK;
  if (revision != VFS_CAP_REVISION_2 && revision != VFS_CAP_REVISION_3) return 0;
  // Without this flag the program would have to raise them itself.
  if ((data.magic_etc & VFS_CAP_FLAGS_EFFECTIVE) == 0) return 0;
  return rights_of(std::uint64_t{data.data[1].permitted} << 32U | data.data[0].permitted);
}

}  // namespace rpcrdma::doctor
