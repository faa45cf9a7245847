// The user-space provider: an adapter behind a UDP socket of one local address. It needs no
// privileges, device or kernel module; its packets are RoCEv2, which sniffers and Linux's rxe
// understand.
#pragma once

#include <memory>
#include <string>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/soft/adapter.h>
#include <rpcrdma/soft/fault_rules.h>
#include <rpcrdma/soft/packet_log.h>
#include <rpcrdma/soft/udp_socket.h>

namespace rpcrdma::soft {

struct ProviderOptions {
  // `address` is the local address; `mtu` is lowered to the interface's; `tracer` also receives
  // faults, and its PacketTap packets.
  AdapterOptions adapter;
  UdpOptions udp;
  // A pcapng file for everything sent and received, as Ethernet frames; empty: none.
  std::string pcapng;
  PacketLogOptions packet_log;
  // Faults for outgoing and incoming packets (docs/faults.md).
  FaultPlan faults;
};

struct ProviderCounters {
  AdapterCounters adapter;
  QpCounters queue_pairs;  // of all current and past connections
  UdpCounters udp;
  std::uint64_t not_sent = 0;  // packets for which the socket had no room; retransmitted later
  std::uint64_t damaged = 0;   // received packets that a declared fault destroyed
  std::uint64_t faults = 0;    // packets with a declared fault, in either direction
};

class SoftProvider : public fabric::Provider {
 public:
  // Errors: kSystem, kBadArgument.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<SoftProvider>> open(
      const ProviderOptions& options);

  // Replaces the faults from now on; their counters continue. Packets that the old faults delayed
  // continue at once.
  virtual void set_faults(FaultPlan faults) = 0;

  // Logs packets there from now on; null: nowhere. Returns the previous log, whose destructor waits
  // for the disk.
  [[nodiscard]] virtual std::unique_ptr<PacketLog> log_to(std::unique_ptr<PacketLog> log) = 0;

  [[nodiscard]] virtual ProviderCounters counters() const = 0;
};

}  // namespace rpcrdma::soft
