// Registers a server's programs with rpcbind while it serves them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/rpcbind/rpcbind.h>

namespace rpcrdma::rpcbind {

struct Program {
  std::uint32_t number = 0;
  std::uint32_t version = 0;
};

class Announcement {
 public:
  // Registers all programs over RDMA at this address. Existing registrations, which are most likely
  // left by a server that was killed, are replaced: rpcbind has one address per program, version
  // and netid. Error: as those of rpcbind.h; kNotConnected also if a registration belongs to
  // another user, and then none of the programs is registered.
  static fabric::Expected<Announcement> make(const Server& rpcbind, const fabric::Endpoint& address,
                                             std::span<const Program> programs);
  // Withdraws if that was not done; errors are ignored.
  ~Announcement();
  Announcement(Announcement&& other) noexcept;
  Announcement(const Announcement&) = delete;
  Announcement& operator=(const Announcement&) = delete;
  Announcement& operator=(Announcement&&) = delete;

  // Unregisters those programs that are still registered with this address.
  [[nodiscard]] fabric::Expected<void> unregister();

  [[nodiscard]] const std::vector<Registration>& registered() const { return registered_; }
  [[nodiscard]] const std::vector<Registration>& replaced() const { return replaced_; }

 private:
  explicit Announcement(const Server& rpcbind) : rpcbind_(rpcbind) {}
  fabric::Expected<void> add(const Registration& what);

  Server rpcbind_;
  std::vector<Registration> registered_;
  std::vector<Registration> replaced_;
};

}  // namespace rpcrdma::rpcbind
