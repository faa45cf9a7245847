// Linux's own RPC-over-RDMA (xprtrdma, svcrdma) as a source of trace events: by BPF programs on its
// tracepoints, or, where those cannot be loaded, by the records of the tracepoints in tracefs.
//
// Opening a source needs privileges (docs/kernel.md). An open source needs none: it only reads
// descriptors, so the caller gives them up in between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <rpcrdma/base/error.h>
#include <rpcrdma/kernel/event_sink.h>

namespace rpcrdma::kernel {

enum class Mode : std::uint8_t {
  kEvents,  // each message, operation and change of credits
  kSums,    // no events: the kernel counts, and sums() reads the counters
};

// Conditions on events, tested in the kernel before anything is copied. All that are set must hold.
// Connections and their ends pass all but `peer` and `qpn`. With `slower_than_ns` or `only_errors`
// only messages, ends of Calls and errors pass. The kernel holds a Call until its Reply arrives,
// and at most 4096 of them: those held longest are left out.
struct Filter {
  std::optional<std::array<std::uint8_t, 16>> peer = {};  // address; IPv4 mapped (::ffff:a.b.c.d)
  std::uint8_t peer_prefix = 128;                         // significant bits of `peer`
  std::optional<std::uint32_t> qpn = {};                  // local QP number of one connection
  std::optional<std::uint32_t> program = {};
  std::optional<std::uint32_t> procedure = {};
  // Only Calls with a longer time from Send to Reply: Call and Reply together.
  std::int64_t slower_than_ns = 0;
  bool only_errors = false;  // RDMA_ERROR, failed completions, undecodable headers

  [[nodiscard]] bool any() const {
    return peer || qpn || program || procedure || slower_than_ns > 0 || only_errors;
  }
};

struct Options {
  Mode mode = Mode::kEvents;
  Filter filter = {};
  bool client = true;                             // xprtrdma
  bool server = true;                             // svcrdma
  std::size_t ring_bytes = std::size_t{8} << 20;  // of the kernel's event ring; a power of two
};

class Source {
 public:
  virtual ~Source() = default;

  // Readable while events wait; poll it. -1: none (Mode::kSums).
  [[nodiscard]] virtual int fd() const = 0;
  // Starts or stops copying events. A source starts stopped. Open connections are known either way.
  virtual void listen(bool on) = 0;
  // Emits the events that have arrived, a bounded number. Error: the source has ended, because a
  // module was unloaded, for example.
  [[nodiscard]] virtual base::Expected<void> drain(EventSink& sink) = 0;
  // Emits ProcedureSums, ConnectionSums and Credits that have changed since the last call. In
  // Mode::kEvents it does nothing.
  [[nodiscard]] virtual base::Expected<void> sums(EventSink& sink, std::int64_t now) = 0;
  // Events that the kernel's ring could not hold, since the source was opened.
  [[nodiscard]] virtual std::uint64_t lost() const = 0;
  [[nodiscard]] virtual trace::EventSource kind() const = 0;
  // One line for people: "client and server of Linux 6.1.0-56-amd64, by BPF".
  [[nodiscard]] virtual std::string role() const = 0;
  // What this source cannot see, one sentence each; empty for BPF with all programs.
  [[nodiscard]] virtual std::string missing() const = 0;
};

// Loads the BPF programs and attaches them. Errors: one sentence that says what to do: no
// privilege, no BTF, neither module is loaded, the kernel refuses a program (its reason; the whole
// log is in `log`, if not null). A build without libbpf always fails.
[[nodiscard]] base::Expected<std::unique_ptr<Source>> open_bpf(const Options& options,
                                                               std::string* log = nullptr);

// Creates a tracefs instance and enables the tracepoints in it; it is removed with the source if
// the process still may. Ignores the parts of the filter that tracepoints cannot test, and
// Mode::kSums: missing() says so.
[[nodiscard]] base::Expected<std::unique_ptr<Source>> open_tracefs(const Options& options);

// open_bpf(), else open_tracefs(). `why_no_bpf`: in the latter case, why; else empty. Error: why
// neither works.
[[nodiscard]] base::Expected<std::unique_ptr<Source>> open_source(
    const Options& options, std::string* log = nullptr, std::string* why_no_bpf = nullptr);

}  // namespace rpcrdma::kernel
