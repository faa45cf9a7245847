#include "object.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <string_view>

#include <bpf/btf.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace rpcrdma::kernel {

extern const unsigned char scope_object_begin[];
extern const std::size_t scope_object_bytes;

namespace {

constexpr std::size_t kMostLog = std::size_t{4} << 20;

// libbpf prints through one function for the whole process.
std::string* print_to = nullptr;

int print(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG || print_to == nullptr || print_to->size() > kMostLog) return 0;
  va_list again;
  va_copy(again, arguments);
  const int bytes = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (bytes <= 0) return 0;
  const std::size_t before = print_to->size();
  print_to->resize(before + static_cast<std::size_t>(bytes) + 1);
  std::vsnprintf(print_to->data() + before, static_cast<std::size_t>(bytes) + 1, format, arguments);
  print_to->pop_back();
  return bytes;
}

class Printing {
 public:
  explicit Printing(std::string& to) : before_(libbpf_set_print(print)) { print_to = &to; }
  ~Printing() {
    print_to = nullptr;
    libbpf_set_print(before_);
  }
  Printing(const Printing&) = delete;
  Printing& operator=(const Printing&) = delete;

 private:
  libbpf_print_fn_t before_;
};

struct FreeBtf {
  void operator()(btf* types) const { btf__free(types); }
};
using Btf = std::unique_ptr<btf, FreeBtf>;

// The tracepoints of the kernel and of the two modules, by their types. A look-up in the kernel's
// types passes over a hundred thousand of them, so they are read once.
class Tracepoints {
 public:
  Tracepoints() {
    const Btf kernel(btf__load_vmlinux_btf());
    if (!kernel) return;
    known_ = true;
    bool in_modules = true;
    for (const char* module : {"rpcrdma", "sunrpc"}) {
      const Btf types(btf__load_module_btf(module, kernel.get()));
      if (types) {
        add(types.get(), btf__type_cnt(kernel.get()));
      } else {
        in_modules = false;
      }
    }
    if (!in_modules) add(kernel.get(), 1);  // built in, or not loaded
  }
  // Whether the kernel describes its types.
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] bool contains(std::string_view name) const { return names_.contains(name); }

 private:
  void add(const btf* types, std::uint32_t first) {
    constexpr std::string_view kPrefix = "btf_trace_";
    for (std::uint32_t id = first; id < btf__type_cnt(types); ++id) {
      const btf_type* type = btf__type_by_id(types, id);
      if (!btf_is_typedef(type)) continue;
      const std::string_view name = btf__name_by_offset(types, type->name_off);
      if (name.starts_with(kPrefix)) names_.emplace(name.substr(kPrefix.size()));
    }
  }

  bool known_ = false;
  std::set<std::string, std::less<>> names_;
};

std::string release() {
  utsname name{};
  return uname(&name) == 0 ? name.release : "";
}

bool of_client(std::string_view tracepoint) {
  return tracepoint.starts_with("xprt") || tracepoint.starts_with("rpc_");
}

// The strictest lockdown forbids programs to read the kernel's memory.
bool locked_down() {
  std::ifstream file("/sys/kernel/security/lockdown");
  std::string modes;
  std::getline(file, modes);
  return modes.find("[confidentiality]") != std::string::npos;
}

std::string why_not_loaded(int error, const std::string& log) {
  if (locked_down()) {
    return "the kernel's lockdown is 'confidentiality', which forbids BPF programs to read its "
           "memory";
  }
  std::string verdict = refusal(log);
  if (!verdict.empty()) {
    return fmt::format("the kernel {} refuses a BPF program: {}", release(), verdict);
  }
  if (error == EPERM || error == EACCES) {
    return "no permission to load BPF programs: this needs root, or CAP_BPF, CAP_PERFMON and "
           "CAP_SYS_ADMIN";
  }
  return fmt::format("the BPF programs cannot be loaded: {}", std::strerror(error));
}

scope_settings settings_of(const Options& options) {
  scope_settings settings{};
  const Filter& filter = options.filter;
  if (filter.peer) {
    settings.has_peer = 1;
    std::copy(filter.peer->begin(), filter.peer->end(), settings.peer);
    settings.peer_prefix = filter.peer_prefix;
  }
  if (filter.qpn) {
    settings.has_qpn = 1;
    settings.qpn = *filter.qpn;
  }
  if (filter.program) {
    settings.has_program = 1;
    settings.program = *filter.program;
  }
  if (filter.procedure) {
    settings.has_procedure = 1;
    settings.procedure = *filter.procedure;
  }
  settings.only_errors = filter.only_errors ? 1 : 0;
  settings.slower_than_ns = static_cast<__u64>(std::max<std::int64_t>(filter.slower_than_ns, 0));
  settings.events = options.mode == Mode::kEvents ? 1 : 0;
  return settings;
}

// Sizes maps that this mode does not use to the least.
void size_maps(bpf_object* object, const Options& options) {
  const auto least = [&](const char* name) {
    bpf_map* map = bpf_object__find_map_by_name(object, name);
    if (map != nullptr) bpf_map__set_max_entries(map, 1);
  };
  if (bpf_map* ring = bpf_object__find_map_by_name(object, "ring")) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    // The kernel wants a power of two, and whole pages.
    const std::size_t bytes = options.mode == Mode::kEvents ? options.ring_bytes : page;
    const std::size_t most = std::size_t{1} << 30;
    bpf_map__set_max_entries(ring,
                             static_cast<__u32>(std::bit_ceil(std::clamp(bytes, page, most))));
  }
  if (options.mode == Mode::kSums || options.filter.slower_than_ns <= 0) least("held");
  if (options.mode == Mode::kEvents) least("procedures");
}

// Enables the programs of the mode and roles that the kernel has tracepoints for.
void choose_programs(const Tracepoints& tracepoints, const Options& options, LoadedObject& loaded) {
  const std::string_view prefix = options.mode == Mode::kEvents ? "event_" : "sum_";
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, loaded.object.get()) {
    std::string_view tracepoint = bpf_program__section_name(program);
    tracepoint.remove_prefix(tracepoint.find('/') + 1);
    const bool client = of_client(tracepoint);
    const std::string_view name = bpf_program__name(program);
    bool wanted = (name.starts_with(prefix) || name.starts_with("both_")) &&
                  (client ? options.client : options.server);
    if (wanted && !tracepoints.contains(tracepoint)) {
      // Since 6.6, Writes of Reply chunks have tracepoints of their own.
      if (!tracepoint.starts_with("svcrdma_wc_reply")) loaded.missing.emplace_back(tracepoint);
      wanted = false;
    }
    bpf_program__set_autoload(program, wanted);
    if (wanted) (client ? loaded.client : loaded.server) = true;
  }
}

base::Expected<void> set(bpf_object* object, const scope_settings& settings) {
  bpf_map* map = bpf_object__find_map_by_name(object, ".rodata");
  if (map == nullptr || bpf_map__set_initial_value(map, &settings, sizeof settings) != 0) {
    return base::fail("the BPF object does not have the expected settings");
  }
  return {};
}

std::unique_ptr<scope_shared, UnmapShared> map_shared(bpf_object* object) {
  const int fd = bpf_object__find_map_fd_by_name(object, ".bss");
  if (fd < 0) return nullptr;
  void* memory = mmap(nullptr, sizeof(scope_shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return std::unique_ptr<scope_shared, UnmapShared>(
      memory == MAP_FAILED ? nullptr : static_cast<scope_shared*>(memory));
}

}  // namespace

void UnmapShared::operator()(scope_shared* shared) const {
  munmap(shared, sizeof *shared);
}

std::string refusal(const std::string& log) {
  // libbpf: prog 'event_x': BPF program load failed: Permission denied
  // libbpf: prog 'event_x': -- BEGIN PROG LOAD LOG --
  // ... R3 pointer arithmetic on ... prohibited ...
  // processed 12 insns ...
  // -- END PROG LOAD LOG --
  constexpr std::string_view kBegin = "-- BEGIN PROG LOAD LOG --", kEnd = "-- END PROG LOAD LOG --";
  const std::size_t begin = log.find(kBegin);
  if (begin == std::string::npos) return {};
  std::string_view program;
  const std::size_t quote = log.rfind("prog '", begin);
  if (quote != std::string::npos) {
    program = std::string_view(log).substr(quote + 6);
    program = program.substr(0, program.find('\''));
  }
  std::string_view text = std::string_view(log).substr(begin + kBegin.size());
  text = text.substr(0, text.find(kEnd));
  std::string_view last;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.starts_with("processed ") || line.starts_with("verification time")) break;
    if (line.find_first_not_of(" \r\t") != std::string_view::npos) last = line;
  }
  if (last.empty()) return {};
  return fmt::format("{}: {}", program, last.substr(0, 300));
}

base::Expected<LoadedObject> load_object(const Options& options, std::string* log) {
  std::string own;
  std::string& printed = log != nullptr ? *log : own;
  const Printing printing(printed);
  const Tracepoints tracepoints;
  if (!tracepoints.known()) {
    return base::fail(
        "this kernel does not describe its types (no BTF, /sys/kernel/btf/vmlinux): "
        "BPF programs cannot be loaded");
  }
  LoadedObject loaded;
  LIBBPF_OPTS(bpf_object_open_opts, open, .object_name = "rpcrdma");
  loaded.object.reset(bpf_object__open_mem(scope_object_begin, scope_object_bytes, &open));
  if (!loaded.object) {
    return base::fail(fmt::format("libbpf cannot read the BPF object: {}", std::strerror(errno)));
  }
  choose_programs(tracepoints, options, loaded);
  if (!tracepoints.contains("xprtrdma_post_send") && !tracepoints.contains("svcrdma_post_send")) {
    return base::fail(
        "the kernel's RPC-over-RDMA is not loaded, or does not describe its types: "
        "'modprobe rpcrdma' loads it");
  }
  size_maps(loaded.object.get(), options);
  if (auto done = set(loaded.object.get(), settings_of(options)); !done) {
    return tl::unexpected(done.error());
  }

  if (const int error = bpf_object__load(loaded.object.get()); error != 0) {
    return base::fail(why_not_loaded(-error, printed));
  }
  loaded.shared = map_shared(loaded.object.get());
  if (!loaded.shared) {
    return base::fail(
        fmt::format("the memory of the BPF object cannot be mapped: {}", std::strerror(errno)));
  }
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, loaded.object.get()) {
    if (!bpf_program__autoload(program)) continue;
    bpf_link* link = bpf_program__attach(program);
    if (link == nullptr) {
      const int error = errno;
      return base::fail(fmt::format("the BPF program on {} cannot be attached: {}",
                                    bpf_program__section_name(program), std::strerror(error)));
    }
    loaded.links.emplace_back(link);
  }
  return loaded;
}

}  // namespace rpcrdma::kernel
