// A device opened for one local address: its protection domain, abilities, registered memory, and
// event channels.
#pragma once

#include "parameters.h"

#include <memory>
#include <string>
#include <unordered_map>

#include <rdma/rdma_cma.h>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/verbs/provider.h>

namespace rpcrdma::verbs {

struct Destroy {
  void operator()(rdma_event_channel* channel) const { ::rdma_destroy_event_channel(channel); }
  void operator()(rdma_cm_id* id) const { (void)::rdma_destroy_id(id); }
  void operator()(ibv_pd* domain) const { (void)::ibv_dealloc_pd(domain); }
  void operator()(ibv_comp_channel* channel) const { (void)::ibv_destroy_comp_channel(channel); }
  void operator()(ibv_mr* memory) const { (void)::ibv_dereg_mr(memory); }
};
template <typename T>
using Owned = std::unique_ptr<T, Destroy>;

// Builds an error from errno.
[[nodiscard]] fabric::Error system_error(const char* what);
// Returns an ID on `channel` bound to this address; `port` 0: any.
[[nodiscard]] fabric::Expected<Owned<rdma_cm_id>> bound_id(rdma_event_channel* channel,
                                                           const fabric::Address& address,
                                                           std::uint16_t port);

class Device {
 public:
  // Errors: kSystem.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<Device>> open(const VerbsOptions& options);

  [[nodiscard]] const fabric::Address& address() const { return address_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Abilities& abilities() const { return abilities_; }
  [[nodiscard]] const fabric::Limits& limits() const { return limits_; }
  [[nodiscard]] ibv_context* context() const { return anchor_->verbs; }
  [[nodiscard]] ibv_pd* domain() const { return domain_.get(); }
  [[nodiscard]] rdma_event_channel* events() const { return channel_.get(); }
  [[nodiscard]] ibv_comp_channel* completions() const { return completions_.get(); }

  [[nodiscard]] fabric::Expected<fabric::Memory> register_memory(std::span<std::uint8_t> memory);
  void deregister_memory(const fabric::Memory& memory);
  // Returns null for memory that is not registered.
  [[nodiscard]] ibv_mr* registration(const fabric::Memory& memory) const;

 private:
  Device() = default;

  fabric::Address address_;
  std::string name_;
  Abilities abilities_;
  fabric::Limits limits_;
  // In the order of their dependencies.
  Owned<rdma_event_channel> channel_;
  Owned<rdma_cm_id> anchor_;  // keeps the device open
  Owned<ibv_pd> domain_;
  Owned<ibv_comp_channel> completions_;
  std::unordered_map<std::uint32_t, Owned<ibv_mr>> memory_;  // by local key
};

}  // namespace rpcrdma::verbs
