// The BPF object in the kernel: chooses the programs, loads and attaches them.
#pragma once

#include "records.h"

#include <memory>
#include <string>
#include <vector>

#include <bpf/libbpf.h>

#include <rpcrdma/base/error.h>
#include <rpcrdma/kernel/source.h>

namespace rpcrdma::kernel {

struct CloseObject {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
struct DestroyLink {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};

struct UnmapShared {
  void operator()(scope_shared* shared) const;
};

struct LoadedObject {
  std::unique_ptr<bpf_object, CloseObject> object;
  std::vector<std::unique_ptr<bpf_link, DestroyLink>> links;  // detached before the object closes
  std::unique_ptr<scope_shared, UnmapShared> shared;
  bool client = false, server = false;  // programs of this role are attached
  std::vector<std::string> missing;     // tracepoints that this kernel does not have

  [[nodiscard]] int map(const char* name) const {
    return bpf_object__find_map_fd_by_name(object.get(), name);
  }
};

// Errors: one sentence. `log`, if not null, gets all that libbpf and the verifier print.
[[nodiscard]] base::Expected<LoadedObject> load_object(const Options& options, std::string* log);

// Returns what the kernel did not like, from the verifier's log as libbpf prints it: the program
// and the last words. Empty: the log has no verdict.
[[nodiscard]] std::string refusal(const std::string& log);

}  // namespace rpcrdma::kernel
