// The kernel's tracepoints by tracefs, in an instance of its own, so that other users of tracing
// are not disturbed. Everything that needs privileges is opened first: reading the pages, and
// starting and stopping the instance, only use descriptors.
#include "tracefs.h"

#include "cpu_pages.h"
#include "instance_remover.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <deque>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <rpcrdma/tracepoints/layouts.h>
#include <rpcrdma/tracepoints/ring_page.h>
#include <rpcrdma/tracepoints/translator.h>

namespace rpcrdma::kernel {
namespace {

using base::Expected;
using base::fail;
using base::FileDescriptor;

std::optional<std::string> read_small_file(const std::string& path) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return std::nullopt;
  constexpr std::size_t kMost = std::size_t{1} << 20;
  std::string text;
  std::array<char, 4096> buffer{};
  while (text.size() < kMost) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return text;
}

// Some of tracefs' files take no write at a position, and have none themselves.
bool write_text(int fd, std::string_view text) {
  (void)::lseek(fd, 0, SEEK_SET);
  return ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool write_file(const std::string& path, std::string_view text) {
  const FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.get() >= 0 && write_text(fd.get(), text);
}

std::int64_t monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string kernel_release() {
  utsname name{};
  return ::uname(&name) == 0 ? name.release : "";
}

// Which role a tracepoint belongs to. Those of RPC tasks also show the server's reverse Calls.
bool wanted(const tracepoints::EventInfo& event, const Options& options) {
  if (event.name.starts_with("xprtrdma_")) return options.client;
  if (event.name.starts_with("svcrdma_") || event.name.starts_with("svc_")) return options.server;
  return true;
}

class TracefsSource final : public Source {
 public:
  explicit TracefsSource(const Options& options)
      : options_(options), translator_({.client = options.client, .server = options.server}) {}
  ~TracefsSource() override {
    cpus_.clear();
    tracing_on_.reset();
    a_tracepoint_.reset();  // an open file keeps the instance
    if (remover_) remover_->remove();
  }

  Expected<void> open(const std::string& root);

  int fd() const override { return epoll_.get(); }
  void listen(bool on) override;
  Expected<void> drain(EventSink& sink) override;
  Expected<void> sums(EventSink&, std::int64_t) override { return {}; }
  std::uint64_t lost() const override { return lost_; }
  trace::EventSource kind() const override { return trace::EventSource::kKernelTracepoints; }
  std::string role() const override;
  std::string missing() const override;

 private:
  // The translator writes to the sink of the current drain().
  class Current final : public EventSink {
   public:
    explicit Current(tracepoints::Roles roles) : translator(*this, roles) {}
    void event(const trace::EventHeader& header, std::span<const std::uint8_t> fixed,
               std::span<const std::uint8_t> payload,
               std::span<const std::uint8_t> extra_payload) override {
      if (sink != nullptr) sink->event(header, fixed, payload, extra_payload);
    }
    void lost(std::uint64_t count) override {
      if (sink != nullptr) sink->lost(count);
    }
    std::uint32_t new_connection() override { return sink != nullptr ? sink->new_connection() : 0; }

    EventSink* sink = nullptr;
    tracepoints::Translator translator;
  };

  Expected<void> enable(const std::string& instance);
  Expected<void> open_cpus(const std::string& instance);
  void translate(std::int64_t until);
  void wake_in(std::int64_t ns);
  [[nodiscard]] bool is_unloaded() const;

  Options options_;
  tracepoints::PageLayout layout_;
  tracepoints::Layouts formats_;
  std::size_t page_bytes_ = 4096;
  std::unique_ptr<InstanceRemover> remover_;
  FileDescriptor tracing_on_, epoll_, timer_;
  FileDescriptor a_tracepoint_;  // of the module: reading it shows whether that is still loaded
  FileDescriptor every_second_;
  std::deque<CpuPages> cpus_;
  tracepoints::Record record_;
  Current translator_;
  std::uint64_t lost_ = 0;
  bool listening_ = false;
  bool listened_ = false;  // started since the latest drain()
  bool has_client_ = false, has_server_ = false;
};

Expected<void> TracefsSource::open(const std::string& root) {
  const auto header = read_small_file(root + "/events/header_page");
  if (!header) {
    return fail(fmt::format("{}/events cannot be read: {}", root, std::strerror(errno)));
  }
  if (!layout_.take(*header)) return fail("the kernel's description of its pages is unknown");
  // Since Linux 6.8 pages may be larger than those of the processor.
  constexpr std::size_t kMostPage = std::size_t{16} << 20;
  page_bytes_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::string instance = fmt::format("{}/instances/rpcrdma-scope-{}", root, ::getpid());
  constexpr mode_t kOwner = 0700;
  if (::mkdir(instance.c_str(), kOwner) != 0 && errno != EEXIST) {
    return fail(fmt::format("{} cannot be created: {}", instance, std::strerror(errno)));
  }
  remover_ = std::make_unique<InstanceRemover>(instance);
  if (const auto size = read_small_file(instance + "/buffer_subbuf_size_kb")) {
    const std::size_t kib = std::strtoul(size->c_str(), nullptr, 10);
    if (kib > 0 && kib <= kMostPage / 1024) page_bytes_ = std::max(page_bytes_, kib * 1024);
  }
  (void)write_file(instance + "/tracing_on", "0");
  if (!write_file(instance + "/trace_clock", "mono")) {
    return fail(fmt::format("the clock of {} cannot be set: {}", instance, std::strerror(errno)));
  }
  // Readers wait for any record, not for a half-full buffer.
  (void)write_file(instance + "/buffer_percent", "0");
  if (const auto ok = enable(instance); !ok) return ok;
  if (const auto ok = open_cpus(instance); !ok) return ok;
  tracing_on_ = FileDescriptor(::open((instance + "/tracing_on").c_str(), O_WRONLY | O_CLOEXEC));
  if (tracing_on_.get() < 0) {
    return fail(fmt::format("{}/tracing_on: {}", instance, std::strerror(errno)));
  }
  return {};
}

Expected<void> TracefsSource::enable(const std::string& instance) {
  for (const tracepoints::EventInfo& event : tracepoints::events()) {
    if (!wanted(event, options_)) continue;
    const std::string folder = fmt::format("{}/events/{}/{}", instance, event.system, event.name);
    const auto format = read_small_file(folder + "/format");
    if (!format) continue;  // this kernel has no such tracepoint, or its module is not loaded
    if (!formats_.add(*format)) {
      return fail(fmt::format("the format of {} is unknown", event.name));
    }
    if (!write_file(folder + "/enable", "1")) {
      return fail(
          fmt::format("tracepoint {} cannot be enabled: {}", event.name, std::strerror(errno)));
    }
    if (a_tracepoint_.get() < 0 && event.system == "rpcrdma") {
      a_tracepoint_ = FileDescriptor(::open((folder + "/enable").c_str(), O_RDONLY | O_CLOEXEC));
    }
    has_client_ |= event.name.starts_with("xprtrdma_");
    has_server_ |= event.name.starts_with("svcrdma_");
  }
  if (!has_client_ && !has_server_) {
    return fail("the kernel has no tracepoints of rpcrdma: load its module (modprobe rpcrdma)");
  }
  return {};
}

Expected<void> TracefsSource::open_cpus(const std::string& instance) {
  epoll_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  timer_ = FileDescriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  every_second_ = FileDescriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (epoll_.get() < 0 || timer_.get() < 0 || every_second_.get() < 0) {
    return fail(std::strerror(errno));
  }
  const itimerspec second{.it_interval = {1, 0}, .it_value = {1, 0}};
  (void)::timerfd_settime(every_second_.get(), 0, &second, nullptr);
  const auto watch = [this](int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  };
  if (!watch(timer_.get()) || !watch(every_second_.get())) return fail(std::strerror(errno));
  std::error_code error;
  std::vector<std::uint32_t> numbers;
  for (const auto& entry : std::filesystem::directory_iterator(instance + "/per_cpu", error)) {
    const std::string name = entry.path().filename();
    constexpr std::string_view kCpu = "cpu";
    if (name.starts_with(kCpu)) {
      numbers.push_back(
          static_cast<std::uint32_t>(std::strtoul(name.c_str() + kCpu.size(), nullptr, 10)));
    }
  }
  std::sort(numbers.begin(), numbers.end());
  const std::size_t least = std::min(options_.ring_bytes, std::size_t{256} << 10);
  const std::size_t each =
      std::max(options_.ring_bytes / std::max<std::size_t>(numbers.size(), 1), least);
  (void)write_file(instance + "/buffer_size_kb", std::to_string(each / 1024));
  for (const std::uint32_t cpu : numbers) {
    const std::string path = fmt::format("{}/per_cpu/cpu{}/trace_pipe_raw", instance, cpu);
    FileDescriptor pipe(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (pipe.get() < 0) return fail(fmt::format("{}: {}", path, std::strerror(errno)));
    if (!watch(pipe.get())) return fail(fmt::format("{}: {}", path, std::strerror(errno)));
    cpus_.emplace_back(cpu, std::move(pipe));
  }
  if (cpus_.empty()) return fail("the kernel shows no buffers of its CPUs");
  return {};
}

void TracefsSource::listen(bool on) {
  listening_ = on;
  listened_ |= on;
  (void)write_text(tracing_on_.get(), on ? "1" : "0");
  if (!on) wake_in(1);  // for what waits
}

// Records of different CPUs are put in order of time. Those of the last moment wait: another CPU
// may still write an earlier one.
Expected<void> TracefsSource::drain(EventSink& sink) {
  constexpr std::int64_t kMoment = 1'000'000;
  std::uint64_t expirations = 0;
  (void)!::read(timer_.get(), &expirations, sizeof expirations);
  const bool second =
      ::read(every_second_.get(), &expirations, sizeof expirations) == sizeof expirations;
  const std::int64_t now = monotonic_now();
  translator_.sink = &sink;
  if (std::exchange(listened_, false)) translator_.translator.interrupted();
  const std::int64_t until = listening_ ? now - kMoment : std::numeric_limits<std::int64_t>::max();
  for (CpuPages& cpu : cpus_) {
    if (const int error = cpu.read(page_bytes_, layout_); error != 0) {
      translator_.sink = nullptr;
      return fail(fmt::format("the kernel's buffer of CPU {} cannot be read: {}", cpu.cpu(),
                              std::strerror(error)));
    }
  }
  translate(until);
  const bool waits = std::any_of(cpus_.begin(), cpus_.end(),
                                 [](const CpuPages& c) { return c.has_record() || c.has_more(); });
  const bool unloaded = second && !waits && is_unloaded();
  if (!waits && (!listening_ || unloaded)) translator_.translator.finish();
  translator_.translator.expire(now);
  translator_.sink = nullptr;
  // Events that wait for records have to go at some time, even if no record follows.
  constexpr std::int64_t kLater = 200'000'000;
  if (waits) {
    wake_in(listening_ ? kMoment : 1);
  } else if (translator_.translator.waits()) {
    wake_in(kLater);
  }
  if (unloaded) return fail("the kernel's module rpcrdma was unloaded");
  return {};
}

// Nothing else ends: the buffers stay, and stay empty.
bool TracefsSource::is_unloaded() const {
  char flag = 0;
  return ::pread(a_tracepoint_.get(), &flag, 1, 0) < 0 && errno == ENODEV;
}

void TracefsSource::translate(std::int64_t until) {
  for (;;) {
    CpuPages* first = nullptr;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (CpuPages& cpu : cpus_) {
      if (!cpu.next()) {
        // Its next records may be earlier than those of the others.
        if (cpu.has_more()) return;
        continue;
      }
      if (cpu.record().time >= least) continue;
      least = cpu.record().time;
      first = &cpu;
    }
    if (first == nullptr || static_cast<std::int64_t>(least) > until) return;
    if (const std::uint64_t lost = first->take_lost(); lost != 0) {
      lost_ += lost;
      translator_.translator.lost(lost);
    }
    if (formats_.read(first->record().data, record_)) {
      record_.time = static_cast<std::int64_t>(least);
      record_.cpu = first->cpu();
      translator_.translator.take(record_);
    }
    first->take();
  }
}

void TracefsSource::wake_in(std::int64_t ns) {
  itimerspec when{};
  when.it_value.tv_nsec = ns;
  (void)::timerfd_settime(timer_.get(), 0, &when, nullptr);
}

std::string TracefsSource::role() const {
  const char* const who = has_client_ && has_server_ ? "client and server"
                          : has_client_              ? "client"
                                                     : "server";
  return fmt::format("{} of Linux {}, by tracepoints", who, kernel_release());
}

std::string TracefsSource::missing() const {
  std::string text =
      "Tracepoints show fields, not bytes: headers, NFS arguments and QP numbers are unknown. "
      "Connections are known from their first message on.";
  if (options_.filter.any()) text += " Tracepoints cannot be filtered: all Calls are traced.";
  if (options_.mode == Mode::kSums) text += " Tracepoints cannot count: each event is copied.";
  return text;
}

bool is_tracefs(const std::string& path) {
  struct statfs status {};
  return ::statfs(path.c_str(), &status) == 0 && status.f_type == TRACEFS_MAGIC;
}

}  // namespace

Expected<std::unique_ptr<Source>> open_tracefs_at(const std::string& root, const Options& options) {
  auto source = std::make_unique<TracefsSource>(options);
  if (const auto ok = source->open(root); !ok) return tl::unexpected(ok.error());
  return std::unique_ptr<Source>(std::move(source));
}

Expected<std::unique_ptr<Source>> open_tracefs(const Options& options) {
  for (const char* const root : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    if (is_tracefs(root)) return open_tracefs_at(root, options);
  }
  if (::geteuid() != 0) return fail("tracefs is not mounted, or only root may see it");
  return fail("tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing");
}

}  // namespace rpcrdma::kernel
