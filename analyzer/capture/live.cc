// Capturing by libpcap.
#include <array>
#include <atomic>

#include <pcap/pcap.h>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {
namespace {

// How long the kernel may hold frames back to hand them over in one go; also the longest that
// stop() takes on devices whose wait libpcap cannot break.
constexpr int kTimeoutMs = 100;
constexpr int kWholeFrame = 262144;
constexpr std::uint32_t kMaxBufferMib = 2047;  // libpcap takes an int of bytes

struct ClosePcap {
  void operator()(pcap_t* handle) const { pcap_close(handle); }
};
using Handle = std::unique_ptr<pcap_t, ClosePcap>;

struct FreeProgram {
  void operator()(bpf_program* program) const { pcap_freecode(program); }
};

// DLT_ numbers of this system as those of files, where they differ.
LinkType file_link_type(int dlt) {
  return dlt == DLT_RAW ? LinkType::kRaw : static_cast<LinkType>(dlt);
}

class PcapSource final : public LiveSource {
 public:
  PcapSource(Handle handle, std::string name)
      : handle_(std::move(handle)),
        name_(std::move(name)),
        link_(file_link_type(pcap_datalink(handle_.get()))),
        fraction_ns_(
            pcap_get_tstamp_precision(handle_.get()) == PCAP_TSTAMP_PRECISION_NANO ? 1 : 1000) {}

  Expected<bool> next(Frame& frame) override {
    while (!stopped_.load(std::memory_order_relaxed)) {
      pcap_pkthdr* header = nullptr;
      const u_char* data = nullptr;
      const int result = pcap_next_ex(handle_.get(), &header, &data);
      if (result == 0) continue;  // the timeout
      if (result == PCAP_ERROR_BREAK) break;
      if (result != 1) return fail(name_ + ": " + pcap_geterr(handle_.get()));
      stats_.bytes_read += header->caplen;
      frame.number = ++stats_.frames;
      frame.time_ns = std::int64_t{header->ts.tv_sec} * 1'000'000'000 +
                      std::int64_t{header->ts.tv_usec} * fraction_ns_;
      frame.original = header->len;
      frame.interface = 0;
      frame.link = link_;
      frame.data = {data, header->caplen};
      return true;
    }
    return false;
  }

  const SourceStats& stats() const override {
    pcap_stat now{};
    if (pcap_stats(handle_.get(), &now) == 0) {
      // Counters of 32 bits that wrap.
      stats_.dropped +=
          (now.ps_drop - seen_.ps_drop) + std::uint64_t{now.ps_ifdrop - seen_.ps_ifdrop};
      seen_ = now;
    }
    return stats_;
  }

  void stop() override {
    stopped_.store(true, std::memory_order_relaxed);
    pcap_breakloop(handle_.get());
  }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free, "stop() is called from signal handlers");

  Handle handle_;
  std::string name_;
  LinkType link_;
  std::int64_t fraction_ns_;
  std::atomic<bool> stopped_{false};
  mutable SourceStats stats_;  // dropped is brought up to date when somebody asks
  mutable pcap_stat seen_{};
};

tl::unexpected<Error> activation_error(const std::string& name, int code, pcap_t* handle) {
  const std::string detail = pcap_geterr(handle);
  std::string message = name + ": " + pcap_statustostr(code);
  if (!detail.empty()) message += " (" + detail + ")";
  if (code == PCAP_ERROR_PERM_DENIED) {
    message += "; capturing takes CAP_NET_RAW: run as root, or give the program that capability";
  }
  return fail(std::move(message));
}

Expected<void> set_filter(pcap_t* handle, const LiveOptions& options) {
  if (options.filter.empty()) return {};
  bpf_program program{};
  if (pcap_compile(handle, &program, options.filter.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0) {
    return fail("filter \"" + options.filter + "\": " + pcap_geterr(handle));
  }
  const std::unique_ptr<bpf_program, FreeProgram> owner(&program);
  if (pcap_setfilter(handle, &program) != 0) {
    return fail(options.interface + ": cannot set the filter: " + pcap_geterr(handle));
  }
  return {};
}

}  // namespace

Expected<std::unique_ptr<LiveSource>> open_live(const LiveOptions& options) {
  std::array<char, PCAP_ERRBUF_SIZE> text{};
  if (options.snaplen > kWholeFrame) {
    return fail("snapshot length " + std::to_string(options.snaplen) + " is over " +
                std::to_string(kWholeFrame) + " bytes");
  }
  if (options.buffer_mib > kMaxBufferMib) {
    return fail("capture buffer of " + std::to_string(options.buffer_mib) + " MiB is over " +
                std::to_string(kMaxBufferMib) + " MiB");
  }
  Handle handle(pcap_create(options.interface.c_str(), text.data()));
  if (!handle) return fail(options.interface + ": " + text.data());
  pcap_set_snaplen(handle.get(),
                   options.snaplen == 0 ? kWholeFrame : static_cast<int>(options.snaplen));
  pcap_set_promisc(handle.get(), options.promiscuous ? 1 : 0);
  pcap_set_timeout(handle.get(), kTimeoutMs);
  if (options.buffer_mib != 0) {
    pcap_set_buffer_size(handle.get(), static_cast<int>(options.buffer_mib << 20));
  }
  // Refused by devices that have only microseconds, which is then what they give.
  pcap_set_tstamp_precision(handle.get(), PCAP_TSTAMP_PRECISION_NANO);
  const int code = pcap_activate(handle.get());
  if (code < 0) return activation_error(options.interface, code, handle.get());
  if (auto set = set_filter(handle.get(), options); !set) return tl::unexpected(set.error());
  return std::make_unique<PcapSource>(std::move(handle), options.interface);
}

Expected<std::vector<Interface>> list_interfaces() {
  std::array<char, PCAP_ERRBUF_SIZE> text{};
  pcap_if_t* first = nullptr;
  if (pcap_findalldevs(&first, text.data()) != 0) {
    return fail(std::string("cannot list the interfaces: ") + text.data());
  }
  const std::unique_ptr<pcap_if_t, decltype(&pcap_freealldevs)> owner(first, pcap_freealldevs);
  std::vector<Interface> found;
  for (const pcap_if_t* i = first; i != nullptr; i = i->next) {
    found.push_back({i->name, i->description == nullptr ? "" : i->description});
  }
  return found;
}

}  // namespace rpcrdma::capture
