// Opens an RDMA device for a local address: checks its abilities, and creates its protection domain
// and event channels.
#include "device.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <fmt/core.h>

#include <rpcrdma/fabric/socket_address.h>
#include <rpcrdma/verbs/system.h>

namespace rpcrdma::verbs {

using fabric::Errc;
using fabric::Expected;

namespace {

tl::unexpected<fabric::Error> refuse(const char* what) {
  return tl::unexpected(system_error(what));
}

// Makes reads return at once if there is nothing to read.
bool set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

// librdmacm prints to stderr by itself if RDMA is unavailable, so check first.
Expected<Owned<rdma_event_channel>> open_channel(const std::string& root = "") {
  if (const std::string lack = missing_requirements(look_at_system(root)); !lack.empty()) {
    return fabric::fail(Errc::kSystem, lack);
  }
  Owned<rdma_event_channel> channel(::rdma_create_event_channel());
  if (!channel) return refuse("rdma_create_event_channel");
  if (!set_nonblocking(channel->fd)) return refuse("fcntl");
  return channel;
}

}  // namespace

fabric::Error system_error(const char* what) {
  return {Errc::kSystem, fmt::format("{}: {}", what, std::strerror(errno))};
}

Expected<Owned<rdma_cm_id>> bound_id(rdma_event_channel* channel, const fabric::Address& address,
                                     std::uint16_t port) {
  rdma_cm_id* made = nullptr;
  if (::rdma_create_id(channel, &made, nullptr, RDMA_PS_TCP) != 0) return refuse("rdma_create_id");
  Owned<rdma_cm_id> id(made);
  fabric::SocketAddress own = fabric::to_socket_address(address, port);
  if (::rdma_bind_addr(id.get(), &own.any) == 0) return id;
  switch (errno) {
    case EADDRINUSE:
      return fabric::fail(Errc::kSystem,
                          fmt::format("{} port {} is in use", address.to_string(), port));
    case EADDRNOTAVAIL:
    case ENODEV:
      return fabric::fail(Errc::kSystem, fmt::format("{} is not the address of an RDMA device here",
                                                     address.to_string()));
    default:
      return refuse("rdma_bind_addr");
  }
}

Expected<std::unique_ptr<Device>> Device::open(const VerbsOptions& options) {
  std::unique_ptr<Device> d(new Device);
  d->address_ = options.address;
  auto channel = open_channel(options.root);
  if (!channel) return tl::unexpected(channel.error());
  d->channel_ = std::move(*channel);
  auto anchor = bound_id(d->channel_.get(), options.address, 0);
  if (!anchor) return tl::unexpected(anchor.error());
  d->anchor_ = std::move(*anchor);
  ibv_context* const context = d->anchor_->verbs;
  if (context == nullptr) {
    return fabric::fail(Errc::kSystem,
                        fmt::format("{} belongs to no RDMA device; `rpcrdma doctor` lists them",
                                    options.address.to_string()));
  }
  d->name_ = ::ibv_get_device_name(context->device);
  if (!options.device.empty() && options.device != d->name_) {
    return fabric::fail(Errc::kSystem,
                        fmt::format("{} belongs to the device {}, not to {}",
                                    options.address.to_string(), d->name_, options.device));
  }
  ibv_device_attr device{};
  ibv_port_attr port{};
  if (const int e = ::ibv_query_device(context, &device); e != 0) {
    errno = e;
    return refuse("ibv_query_device");
  }
  if (const int e =
          ::ibv_query_port(context, std::max<std::uint8_t>(d->anchor_->port_num, 1), &port);
      e != 0) {
    errno = e;
    return refuse("ibv_query_port");
  }
  d->abilities_ =
      abilities_of(device, port, context->device->transport_type == IBV_TRANSPORT_IWARP);
  if (d->abilities_.slices < fabric::kMaxSlices) {
    return fabric::fail(Errc::kSystem,
                        fmt::format("{} supports {} slices per work request; {} are needed",
                                    d->name_, d->abilities_.slices, fabric::kMaxSlices));
  }
  d->domain_.reset(::ibv_alloc_pd(context));
  if (!d->domain_) return refuse("ibv_alloc_pd");
  d->abilities_.windows &= wants_windows(d->abilities_, options.handles);
  // A device may claim memory windows and still refuse to allocate them.
  if (d->abilities_.windows) {
    ibv_mw* const window = ::ibv_alloc_mw(d->domain_.get(), IBV_MW_TYPE_2);
    if (window == nullptr) {
      d->abilities_.windows = false;
    } else {
      (void)::ibv_dealloc_mw(window);
    }
  }
  if (options.handles == HandleKind::kWindows && !d->abilities_.windows) {
    return fabric::fail(Errc::kSystem, fmt::format("{} has no memory windows of type 2", d->name_));
  }
  d->limits_ = limits_of(d->abilities_);
  d->completions_.reset(::ibv_create_comp_channel(context));
  if (!d->completions_) return refuse("ibv_create_comp_channel");
  if (!set_nonblocking(d->completions_->fd) || !set_nonblocking(context->async_fd)) {
    return refuse("fcntl");
  }
  return d;
}

Expected<fabric::Memory> Device::register_memory(std::span<std::uint8_t> memory) {
  Owned<ibv_mr> made(::ibv_reg_mr(domain_.get(), memory.data(), memory.size(),
                                  static_cast<unsigned>(local_access(abilities_))));
  if (!made) {
    const int error = errno;
    return fabric::fail(Errc::kSystem, registration_advice(error, memory.size(), look_at_system()));
  }
  const std::uint32_t key = made->lkey;
  memory_[key] = std::move(made);
  return fabric::Memory{memory.data(), memory.size(), key};
}

void Device::deregister_memory(const fabric::Memory& memory) {
  memory_.erase(memory.local_key);
}

ibv_mr* Device::registration(const fabric::Memory& memory) const {
  const auto found = memory_.find(memory.local_key);
  return found == memory_.end() ? nullptr : found->second.get();
}

Expected<std::string> VerbsProvider::device_of(const fabric::Address& address) {
  if (look_at_system().devices.empty()) return std::string();
  const auto channel = open_channel();
  if (!channel) return tl::unexpected(channel.error());
  const auto id = bound_id(channel->get(), address, 0);
  if (!id || (*id)->verbs == nullptr) return std::string();
  return std::string(::ibv_get_device_name((*id)->verbs->device));
}

}  // namespace rpcrdma::verbs
