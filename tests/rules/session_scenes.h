// Scenes of NFS mounts: an NFSv4.1 session on several connections, and pNFS.
#pragma once

#include "scene.h"

#include <functional>
#include <string>
#include <vector>

namespace rpcrdma::scenes {

struct SessionScene {
  std::string name;  // of the committed capture
  std::function<void(Scene&)> make;
};

[[nodiscard]] const std::vector<SessionScene>& session_scenes();

// The operations of an NFSv4 COMPOUND of minor version 1 or 2, as arguments or results.
class Compound {
 public:
  explicit Compound(std::uint32_t xid, std::uint32_t minor = 1) : xid_(xid), minor_(minor) {}

  // `session`: the first byte of the session ID.
  Compound& sequence(std::uint8_t session, std::uint32_t slot, std::uint32_t highest_slot = 0);
  Compound& sequence_results(std::uint8_t session, std::uint32_t slot, std::uint32_t slots,
                             std::uint32_t flags = 0);
  // `rest`: its arguments, or its status and results.
  Compound& operation(std::uint32_t op, const Xdr& rest = {});

  [[nodiscard]] Bytes call() const;
  [[nodiscard]] Bytes callback() const;
  [[nodiscard]] Bytes reply(std::uint32_t status = 0) const;
  [[nodiscard]] std::uint32_t xid() const { return xid_; }

 private:
  std::uint32_t xid_;
  std::uint32_t minor_;
  std::uint32_t count_ = 0;
  Xdr operations_;
};

// EXCHANGE_ID and CREATE_SESSION with their Replies.
struct SessionOptions {
  std::uint8_t session = 1;
  std::uint32_t slots = 4;
  std::uint32_t flags = 2;            // csa_flags: CREATE_SESSION4_FLAG_CONN_BACK_CHAN
  std::uint32_t granted = 2;          // csr_flags
  std::uint32_t eir_flags = 0x10000;  // EXCHGID4_FLAG_USE_NON_PNFS
};
void create_session(Connection& c, std::uint32_t xid, const SessionOptions& options = {});
// BIND_CONN_TO_SESSION; `direction`: channel_dir_from_server4.
void bind_connection(Connection& c, std::uint32_t xid, std::uint8_t session,
                     std::uint32_t direction);

}  // namespace rpcrdma::scenes
