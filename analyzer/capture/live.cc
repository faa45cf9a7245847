// Captures from interfaces with libpcap.
#include "header_filter.h"

#include <array>
#include <atomic>
#include <chrono>
#include <ctime>

#include <fmt/core.h>
#include <pcap/pcap.h>
#include <poll.h>

#include <rpcrdma/capture/link.h>
#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {
namespace {

// How long the kernel may hold frames back to deliver them in one batch; also the longest that
// stop() takes on devices where libpcap cannot interrupt the wait.
constexpr int kTimeoutMs = 100;
// How long after stop() the kernel may take to deliver the last batch: its timer has coarse ticks.
constexpr int kLastBatchMs = kTimeoutMs + 20;
constexpr int kWholeFrame = 262144;
constexpr std::uint32_t kMaxBufferMib = 2047;  // libpcap takes an int of bytes

struct ClosePcap {
  void operator()(pcap_t* handle) const { pcap_close(handle); }
};
using Handle = std::unique_ptr<pcap_t, ClosePcap>;

// Maps this system's DLT_ numbers to those of capture files, where they differ.
LinkType file_link_type(int dlt) {
  return dlt == DLT_RAW ? LinkType::kRaw : static_cast<LinkType>(dlt);
}

// Makes libpcap return at once what it has if there is a descriptor to wait on. Returns that
// descriptor, or -1.
int own_wait(pcap_t* handle) {
  std::array<char, PCAP_ERRBUF_SIZE> text{};
  const int descriptor = pcap_get_selectable_fd(handle);
  return descriptor >= 0 && pcap_setnonblock(handle, 1, text.data()) == 0 ? descriptor : -1;
}

class PcapSource final : public LiveSource {
 public:
  PcapSource(Handle handle, Interface interface, std::uint64_t buffer)
      : handle_(std::move(handle)),
        interface_(std::move(interface)),
        undelivered_(buffer),
        descriptor_(own_wait(handle_.get())),
        fraction_ns_(
            pcap_get_tstamp_precision(handle_.get()) == PCAP_TSTAMP_PRECISION_NANO ? 1 : 1000) {}

  Expected<bool> next(Frame& frame) override {
    for (;;) {
      const auto polled = poll(frame);
      if (!polled) return tl::unexpected(polled.error());
      if (*polled != Polled::kNothing) return *polled == Polled::kFrame;
    }
  }

  Expected<Polled> poll(Frame& frame) override {
    if (ended_) return Polled::kStopped;
    pcap_pkthdr* header = nullptr;
    const u_char* data = nullptr;
    int result = pcap_next_ex(handle_.get(), &header, &data);
    if (result == 0 && wait()) result = pcap_next_ex(handle_.get(), &header, &data);
    const std::int64_t stopped = stopped_ns_.load(std::memory_order_relaxed);
    if (result == 0 && stopped == 0) return Polled::kNothing;
    if (result == 0 || result == PCAP_ERROR_BREAK) return end();
    if (result != 1) return fail(interface_.name + ": " + pcap_geterr(handle_.get()));
    const std::int64_t time_ns = std::int64_t{header->ts.tv_sec} * 1'000'000'000 +
                                 std::int64_t{header->ts.tv_usec} * fraction_ns_;
    if (stopped != 0) {
      // Clocks can be set: no more than the kernel's buffer holds came before stop().
      if (time_ns > stopped || undelivered_ < header->caplen) return end();
      undelivered_ -= header->caplen;
    }
    stats_.bytes_read += header->caplen;
    frame.number = ++stats_.frames;
    frame.time_ns = time_ns;
    frame.original = header->len;
    frame.interface = 0;
    frame.link = interface_.link;
    frame.data = {data, header->caplen};
    return Polled::kFrame;
  }

  const Interface& interface() const override { return interface_; }

  const SourceStats& stats() const override {
    pcap_stat now{};
    if (pcap_stats(handle_.get(), &now) == 0) {
      // 32-bit counters that wrap.
      stats_.dropped +=
          (now.ps_drop - seen_.ps_drop) + std::uint64_t{now.ps_ifdrop - seen_.ps_ifdrop};
      seen_ = now;
    }
    return stats_;
  }

  void stop() override {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);  // the clock of the frames' times
    stopped_ns_.store(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec,
                      std::memory_order_relaxed);
    // Without a descriptor to wait on, libpcap has to be interrupted; it drops what it holds.
    if (descriptor_ < 0) pcap_breakloop(handle_.get());
  }

 private:
  // Waits until there may be a frame; returns false if there is none for kTimeoutMs, or after a
  // signal. On kernels that deliver blocks of frames, libpcap itself would wait for the first one
  // forever.
  bool wait() const {
    if (descriptor_ < 0) return false;
    pollfd wanted{descriptor_, POLLIN, 0};
    const auto stopped = [&] { return stopped_ns_.load(std::memory_order_relaxed) != 0; };
    if (!stopped() && ::poll(&wanted, 1, kTimeoutMs) > 0) return true;
    if (!stopped()) return false;
    // The kernel delivers the last batch when its time is over.
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kLastBatchMs);
    for (;;) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() <= 0) return false;
      if (::poll(&wanted, 1, static_cast<int>(left.count())) > 0) return true;
    }
  }

  Polled end() {
    ended_ = true;
    return Polled::kStopped;
  }

  static_assert(std::atomic<std::int64_t>::is_always_lock_free,
                "stop() is called from signal handlers");

  Handle handle_;
  Interface interface_;
  std::uint64_t undelivered_;  // bytes that the kernel's buffer can hold when stop() is called
  int descriptor_;             // to wait on; -1: libpcap waits
  std::int64_t fraction_ns_;
  std::atomic<std::int64_t> stopped_ns_{0};  // when stop() was called
  bool ended_ = false;
  mutable SourceStats stats_;  // dropped is updated on request
  mutable pcap_stat seen_{};
};

tl::unexpected<Error> activation_error(const std::string& name, int code, pcap_t* handle) {
  const std::string detail = pcap_geterr(handle);
  std::string message = name + ": " + pcap_statustostr(code);
  if (!detail.empty() && !message.ends_with(detail)) message += " (" + detail + ")";
  if (code == PCAP_ERROR_PERM_DENIED) {
    message +=
        "; capturing requires CAP_NET_RAW: run as root, or grant the program that capability";
  }
  return fail(std::move(message));
}

class Compiled {
 public:
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() { pcap_freecode(&program_); }

  Expected<void> compile(pcap_t* handle, const std::string& filter) {
    if (pcap_compile(handle, &program_, filter.c_str(), 1, PCAP_NETMASK_UNKNOWN) == 0) return {};
    return fail("filter \"" + filter + "\": " + pcap_geterr(handle));
  }
  [[nodiscard]] bpf_program& program() { return program_; }

 private:
  bpf_program program_{};
};

Expected<void> set_filter(pcap_t* handle, const Interface& interface, bool headers) {
  if (interface.filter.empty() && !headers) return {};
  Compiled filter;
  if (auto ok = filter.compile(handle, interface.filter); !ok) return ok;
  bpf_program program = filter.program();
  std::vector<bpf_insn> joined;
  Compiled data;
  if (headers) {
    const std::string expression = data_filter(interface.link);
    if (expression.empty()) {
      return fail(interface.name +
                  ": cannot keep only headers of data on this kind of link; use a snapshot length");
    }
    if (auto ok = data.compile(handle, expression); !ok) return ok;
    joined = truncate_data(program, data.program(), kHeaderBytes);
    program = {static_cast<u_int>(joined.size()), joined.data()};
  }
  if (pcap_setfilter(handle, &program) != 0) {
    return fail(interface.name + ": cannot set the filter: " + pcap_geterr(handle));
  }
  return {};
}

// What carries RoCE in IP: UDP ports and IP protocols of tunnels, segment routing, and fragments,
// of which only the first shows its port. `ip6[6]` is the next header; "ip6 protochain" would
// follow them all, but the kernel does not run its loop.
constexpr const char* kTunnelsInIp =
    " or udp dst port 4789 or udp dst port 8472 or udp dst port 4790 or udp dst port 6081"
    " or udp dst port 2152 or udp dst port 6635 or udp dst port 4754 or udp dst port 6080"
    " or udp dst port 4341 or udp dst port 37008"
    " or proto 47 or proto 4 or proto 41 or proto 97 or proto 137 or ip6 proto 143"
    " or ip6[6] = 43 or ip6[6] = 44 or ip6[6] = 60 or ip6[6] = 0 or (ip proto 17 and ip[6:2] & "
    "0x3fff != 0)";
// MPLS, PPPoE, VN-Tag, E-Tag, Cisco metadata, MACsec, NSH, PBB, TRILL, FabricPath.
constexpr const char* kTunnelsInEthernet =
    " or ether proto 0x8847 or ether proto 0x8848 or ether proto 0x8864 or ether proto 0x8926"
    " or ether proto 0x893f or ether proto 0x8909 or ether proto 0x88e5 or ether proto 0x894f"
    " or ether proto 0x88e7 or ether proto 0x22f3 or ether proto 0x8903";

// RoCE, and iWARP at the port of NFS/RDMA. `vlan` shifts the offsets of all that follows it, so it
// comes last.
std::string roce_filter(LinkType link, bool tunnels) {
  std::string ip = "udp port 4791 or tcp port 20049";
  std::string ethernet = ip + " or ether proto 0x8915";
  if (tunnels) {
    ip += kTunnelsInIp;
    for (const std::uint16_t port : link_options.vxlan_ports) {
      if (port != 0) ip += fmt::format(" or udp dst port {}", port);
    }
    ethernet = ip + " or ether proto 0x8915" + kTunnelsInEthernet;
  }
  switch (link) {
    case LinkType::kEthernet:
      return fmt::format("{0} or (vlan and ({0} or (vlan and ({0}))))", ethernet);
    case LinkType::kLinuxSll:
    case LinkType::kLinuxSll2:
      return ethernet;
    case LinkType::kRaw:
    case LinkType::kIpv4:
    case LinkType::kIpv6:
      return ip;
    default:
      return "";
  }
}

}  // namespace

Expected<std::unique_ptr<LiveSource>> open_live(const LiveOptions& options) {
  std::array<char, PCAP_ERRBUF_SIZE> text{};
  if (options.snaplen > kWholeFrame) {
    return fail("snapshot length " + std::to_string(options.snaplen) + " is over " +
                std::to_string(kWholeFrame) + " bytes");
  }
  if (options.buffer_mib == 0 || options.buffer_mib > kMaxBufferMib) {
    return fail("capture buffer of " + std::to_string(options.buffer_mib) +
                " MiB is not from 1 to " + std::to_string(kMaxBufferMib) + " MiB");
  }
  Handle handle(pcap_create(options.interface.c_str(), text.data()));
  if (!handle) return fail(options.interface + ": " + text.data());
  pcap_set_snaplen(handle.get(),
                   options.snaplen == 0 ? kWholeFrame : static_cast<int>(options.snaplen));
  pcap_set_promisc(handle.get(), options.promiscuous ? 1 : 0);
  pcap_set_timeout(handle.get(), kTimeoutMs);
  pcap_set_buffer_size(handle.get(), static_cast<int>(options.buffer_mib << 20));
  // Devices that only have microseconds refuse this; they then use microseconds.
  pcap_set_tstamp_precision(handle.get(), PCAP_TSTAMP_PRECISION_NANO);
  const int code = pcap_activate(handle.get());
  if (code < 0) return activation_error(options.interface, code, handle.get());
  const LinkType link = file_link_type(pcap_datalink(handle.get()));
  Interface interface {
    .name = options.interface,
    .filter = options.filter.empty() && options.only_roce ? roce_filter(link, options.tunnels)
                                                          : options.filter,
    .link = link, .snaplen = static_cast<std::uint32_t>(pcap_snapshot(handle.get()))
  };
  if (auto set = set_filter(handle.get(), interface, options.headers); !set) {
    return tl::unexpected(set.error());
  }
  return std::make_unique<PcapSource>(std::move(handle), std::move(interface),
                                      std::uint64_t{options.buffer_mib} << 20U);
}

Expected<std::vector<ListedInterface>> list_interfaces() {
  std::array<char, PCAP_ERRBUF_SIZE> text{};
  pcap_if_t* first = nullptr;
  if (pcap_findalldevs(&first, text.data()) != 0) {
    return fail(std::string("cannot list the interfaces: ") + text.data());
  }
  const std::unique_ptr<pcap_if_t, decltype(&pcap_freealldevs)> owner(first, pcap_freealldevs);
  std::vector<ListedInterface> found;
  for (const pcap_if_t* i = first; i != nullptr; i = i->next) {
    found.push_back({i->name, i->description == nullptr ? "" : i->description});
  }
  return found;
}

}  // namespace rpcrdma::capture
