// The kernel's RPC-over-RDMA as a source of events, by BPF programs.
#include "object.h"
#include "sums.h"
#include "translate.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/kernel/source.h>

namespace rpcrdma::kernel {
namespace {

// Records of one drain(), which are ordered by time together.
constexpr std::size_t kMostRecords = 2048;

struct FreeRing {
  void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
};

class BpfSource final : public Source {
 public:
  BpfSource(LoadedObject loaded, Mode mode) : loaded_(std::move(loaded)), mode_(mode) {}

  base::Expected<void> open_ring() {
    if (mode_ != Mode::kEvents) return {};
    ring_.reset(ring_buffer__new(loaded_.map("ring"), take, this, nullptr));
    if (ring_) return {};
    return base::fail(fmt::format("the kernel's ring cannot be mapped: {}", std::strerror(errno)));
  }

  [[nodiscard]] int fd() const override { return ring_ ? ring_buffer__epoll_fd(ring_.get()) : -1; }

  void listen(bool on) override {
    std::atomic_ref<__u32>(loaded_.shared->listening).store(on ? 1 : 0, std::memory_order_relaxed);
  }

  [[nodiscard]] base::Expected<void> drain(EventSink& sink) override {
    if (!ring_) return {};
    batch_.clear();
    bytes_.clear();
    const int taken = ring_buffer__consume(ring_.get());
    if (taken < 0 && taken != -ENOSPC) {
      return base::fail(fmt::format("the kernel's ring cannot be read: {}", std::strerror(-taken)));
    }
    std::stable_sort(batch_.begin(), batch_.end(),
                     [](const Taken& a, const Taken& b) { return a.order < b.order; });
    const auto first = std::find_if(batch_.begin(), batch_.end(), [](const Taken& taken_record) {
      return taken_record.order != 0;
    });
    std::uint64_t unreadable = 0;
    for (const Taken& taken_record : batch_) {
      const std::span<std::uint8_t> bytes =
          std::span(bytes_).subspan(taken_record.at, taken_record.bytes);
      if (taken_record.order == 0 && first != batch_.end())
        Translator::move_to(first->order, bytes);
      if (!translator_.record(bytes, sink)) ++unreadable;
    }
    translator_.end_of_batch(sink);
    const std::uint64_t lost_now = lost();
    if (lost_now > reported_lost_) {
      sink.lost(lost_now - reported_lost_);
      look_for_ends_ = true;
    }
    reported_lost_ = lost_now;
    // As long as records wait in the ring, ends may be among them.
    if (look_for_ends_ && taken >= 0) {
      look_for_ends_ = false;
      end_closed_connections(sink);
    }
    if (unreadable != 0) {
      return base::fail(
          fmt::format("the kernel's ring has {} records that make no sense", unreadable));
    }
    return {};
  }

  [[nodiscard]] base::Expected<void> sums(EventSink& sink, std::int64_t now) override {
    if (mode_ != Mode::kSums) return {};
    return read_sums(loaded_.map("connections"), loaded_.map("procedures"), sums_, now, sink);
  }

  [[nodiscard]] std::uint64_t lost() const override {
    std::uint64_t sum = 0;
    for (scope_lost& slot : loaded_.shared->lost) {
      sum += std::atomic_ref<__u64>(slot.records).load(std::memory_order_relaxed) +
             std::atomic_ref<__u64>(slot.unattributed).load(std::memory_order_relaxed);
    }
    return sum;
  }

  [[nodiscard]] trace::EventSource kind() const override {
    return mode_ == Mode::kEvents ? trace::EventSource::kKernelBpf
                                  : trace::EventSource::kKernelSums;
  }

  [[nodiscard]] std::string role() const override {
    utsname name{};
    const char* release = uname(&name) == 0 ? name.release : "";
    const char* who = !loaded_.server ? "client" : !loaded_.client ? "server" : "client and server";
    return fmt::format("{} of Linux {}, by BPF", who, release);
  }

  [[nodiscard]] std::string missing() const override {
    if (loaded_.missing.empty()) return {};
    return fmt::format("this kernel lacks the tracepoints {}; what they report is not seen",
                       fmt::join(loaded_.missing, ", "));
  }

 private:
  struct Taken {
    std::int64_t order;
    std::size_t at, bytes;
  };

  // Ends the connections whose last record was lost.
  void end_closed_connections(EventSink& sink) {
    const int map = loaded_.map("connections");
    for (const scope_key& key : translator_.open_connections()) {
      scope_connection_state state{};
      if (bpf_map_lookup_elem(map, &key, &state) != 0 || state.ended == 0) continue;
      scope_connection_end end{};
      end.record.type = SCOPE_CONNECTION_END;
      end.record.time = static_cast<__u64>(base::monotonic_ns());
      end.record.connection = key;
      end.status = state.end_status;
      end.established = 1;
      end.flushed = static_cast<__u32>(state.flushed);
      translator_.record({reinterpret_cast<const std::uint8_t*>(&end), sizeof end}, sink);
    }
  }

  static int take(void* self, void* data, std::size_t bytes) {
    return static_cast<BpfSource*>(self)->take({static_cast<const std::uint8_t*>(data), bytes});
  }
  // A negative result makes libbpf return to drain() after this record.
  int take(std::span<const std::uint8_t> record) {
    batch_.push_back({Translator::order_of(record), bytes_.size(), record.size()});
    bytes_.insert(bytes_.end(), record.begin(), record.end());
    return batch_.size() < kMostRecords ? 0 : -ENOSPC;
  }

  LoadedObject loaded_;
  Mode mode_;
  std::unique_ptr<ring_buffer, FreeRing> ring_;
  Translator translator_;
  Sums sums_;
  std::vector<Taken> batch_;
  std::vector<std::uint8_t> bytes_;
  std::uint64_t reported_lost_ = 0;
  bool look_for_ends_ = false;
};

}  // namespace

base::Expected<std::unique_ptr<Source>> open_bpf(const Options& options, std::string* log) {
  auto loaded = load_object(options, log);
  if (!loaded) return tl::unexpected(loaded.error());
  auto source = std::make_unique<BpfSource>(std::move(*loaded), options.mode);
  if (auto opened = source->open_ring(); !opened) return tl::unexpected(opened.error());
  return source;
}

}  // namespace rpcrdma::kernel
