// The user-space provider: an adapter behind a UDP socket of one local address. It needs no rights,
// no device and no module; its packets are RoCEv2 as any sniffer and Linux's rxe know it.
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
  // `address` is the one to bind to; `mtu` is lowered to what its interface carries; `tracer` is
  // told of faults, and its PacketTap of packets, too.
  AdapterOptions adapter;
  UdpOptions udp;
  // A pcapng file into which everything sent and received goes, as Ethernet frames; empty: none.
  std::string pcapng;
  PacketLogOptions packet_log;
  // What is to go wrong with packets on their way out and in (docs/faults.md).
  FaultPlan faults;
};

struct ProviderCounters {
  AdapterCounters adapter;
  QpCounters queue_pairs;  // of all connections that there are and were
  UdpCounters udp;
  std::uint64_t not_sent = 0;  // packets for which the socket had no room; sent again when missed
  std::uint64_t damaged = 0;   // received packets that a declared fault made worthless
  std::uint64_t faults = 0;    // packets that a declared fault was for, either way
};

class SoftProvider : public fabric::Provider {
 public:
  // Errors: kSystem, kBadArgument.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<SoftProvider>> open(
      const ProviderOptions& options);

  // From now on, in place of the faults before; those count on in the counters. Packets that they
  // have kept back go on.
  virtual void set_faults(FaultPlan faults) = 0;

  [[nodiscard]] virtual ProviderCounters counters() const = 0;
};

}  // namespace rpcrdma::soft
