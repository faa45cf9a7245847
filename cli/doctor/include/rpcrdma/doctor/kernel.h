// What the kernel endpoint needs (docs/kernel.md): types in BTF, tracefs, modules, privileges.
#pragma once

#include <cstdint>
#include <string>

namespace rpcrdma::doctor {

// Rights that the kernel source needs; bits of a set.
enum KernelRight : std::uint8_t {
  kBpf = 1,
  kPerfmon = 2,
  kSysAdmin = 4,
};
inline constexpr std::uint8_t kAllKernelRights = kBpf | kPerfmon | kSysAdmin;

struct Kernel {
  std::string release;      // "6.1.0-56-amd64"; empty: unknown
  bool btf = false;         // of the kernel itself
  bool module_btf = false;  // of the module rpcrdma, if it is loaded
  bool rpcrdma = false;     // the module, which has xprtrdma and svcrdma, is loaded or built in
  bool nfs = false, nfsd = false;
  bool tracefs = false;     // is mounted
  std::string lockdown;     // "none", "integrity", "confidentiality"; empty: not supported
  std::uint8_t rights = 0;  // KernelRight, of the caller
};
// `root`: prefix of all paths.
[[nodiscard]] Kernel look_at_kernel(const std::string& root);

// The program that traces the kernel.
struct KernelProgram {
  std::string path;         // empty: missing
  std::string why;          // why it is missing
  std::uint8_t rights = 0;  // KernelRight, by its file capabilities
};
[[nodiscard]] KernelProgram find_kernel_program();
// Returns the rights in the value of a file's attribute security.capability.
[[nodiscard]] std::uint8_t rights_of_attribute(const std::string& value);

}  // namespace rpcrdma::doctor
