// The connection manager's tables, and the functions that its parts share. Messages for no known
// connection are answered from their own contents (CmAnswer). A connection that is over stays in
// time-wait for a while to answer duplicates, unless its place is needed.
#pragma once

#include "cm_messages.h"
#include "cm_state.h"
#include "cm_timers.h"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/fabric/ring.h>
#include <rpcrdma/soft/cm.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::soft {

// A communication ID or QPN chosen by a peer. A malicious peer could choose colliding keys, so the
// tables are trees rather than hash tables.
using CmRemoteKey = std::pair<fabric::Address, std::uint32_t>;

// The fields that stay the same when a REQ is retransmitted.
struct CmRefused {
  fabric::Address peer;
  std::uint32_t remote_id = 0;
  std::uint64_t transaction_id = 0;
  fabric::Time until = 0;  // its sender has timed out by then; a later REQ is a new one
};

// Answers without a connection that wait for transmit(). Further ones are dropped; the peer
// retransmits its message.
inline constexpr std::size_t kMaxCmAnswers = 1024;
// The maximum number of events from one message or one call.
inline constexpr std::size_t kCmEventsAtOnce = 4;

struct ConnectionManager::Impl {
  Impl(const CmLimits& given, std::uint64_t seed);

  // --- The table (cm_table.cc)

  // Reserves memory for the effects of one message, so that handling it never stops halfway.
  void make_room();

  [[nodiscard]] CmConnection* find(CmId id);
  // The same, if the connection is between the two addresses of `path`.
  [[nodiscard]] CmConnection* find(CmId id, const Path& path);
  // Creates a connection, in place of the oldest in time-wait if the table is full; null if that is
  // impossible.
  [[nodiscard]] CmConnection* create(const Path& path);
  void erase(CmConnection& c);

  void ask(CmConnection& c, CmPending pending);
  void ask_rej(CmConnection& c, std::uint8_t about, std::uint16_t reason);
  bool answer(CmAnswer a);  // false: too many wait, and this one is dropped
  CmEvent& emit(const CmConnection& c, CmEventType type);

  // Our message was sent: starts the timer for the answer.
  void expect_answer(CmConnection& c, fabric::Time now);
  // The connection left kWaiting: it was answered or is over.
  void leave_waiting(const CmConnection& c);
  // The connection is over for its owner.
  void enter_time_wait(CmConnection& c, fabric::Time now);
  // Aborts the connection in any state, with a REJ for `reason` where one is due, and emits
  // kDisconnect.
  void end(CmConnection& c, std::uint16_t reason, fabric::Time now);
  // Our message was not answered in time.
  void timed_out(CmConnection& c, fabric::Time now);
  // The peer starts a new connection with an ID or a QPN of `old`, which is therefore stale and
  // ends (12.9.8.3). Returns true if the new connection must be rejected for it.
  [[nodiscard]] bool peer_restarted(CmConnection& old, fabric::Time now);
  [[nodiscard]] bool stale_qpn(const Path& path, std::uint32_t qpn, fabric::Time now);

  // --- Messages: cm_passive.cc

  void on(const wire::CmReq& m, const wire::MadHeader& h, const Path& path, fabric::Time now);
  void repeated_req(CmConnection& c, fabric::Time now);
  void refuse(const wire::CmReq& m, const wire::MadHeader& h, const Path& path,
              std::uint16_t reason, fabric::Time now, const char* why = "");
  void admit(const wire::CmReq& m, const wire::MadHeader& h, const Path& path, fabric::Time now);
  void on(const wire::CmRtu& m, const wire::MadHeader& h, const Path& path, fabric::Time now);
  void established(CmConnection& c);

  // --- cm_active.cc

  void on(const wire::CmRep& m, const wire::MadHeader& h, const Path& path, fabric::Time now);
  void repeated_rep(CmConnection& c, const wire::CmRep& m);

  // --- cm_disconnect.cc

  void on(const wire::CmMra& m, const wire::MadHeader& h, const Path& path, fabric::Time now);
  void on(const wire::CmRej& m, const wire::MadHeader& h, const Path& path, fabric::Time now);
  void on(const wire::CmDreq& m, const wire::MadHeader& h, const Path& path, fabric::Time now);
  void on(const wire::CmDrep& m, const wire::MadHeader& h, const Path& path, fabric::Time now);
  [[nodiscard]] CmConnection* find_rejected(const wire::CmRej& m, const Path& path);

  CmLimits limits;
  CmTimes times;
  CmIds ids;
  std::bitset<65536> listening;
  Counters counters;

  std::unordered_map<CmId, CmConnection> connections;
  std::map<CmRemoteKey, CmConnection*> by_remote_id;   // passive; includes time-wait
  std::map<CmRemoteKey, CmConnection*> by_remote_qpn;  // the last of each QPN; includes time-wait
  std::map<fabric::Address, std::size_t> waiting;      // by peer: connections in kWaiting
  std::size_t waiting_total = 0;

  CmTimers timers;
  CmList<CmConnection, &CmConnection::sending> sending;
  CmList<CmConnection, &CmConnection::time_wait> time_wait;  // oldest first
  fabric::Ring<CmAnswer> answers{kMaxCmAnswers};
  fabric::Ring<CmEvent> events{SIZE_MAX};

  // The refusal of the last receive(), and the last refused REQ, so that a retransmission is
  // reported once.
  std::optional<CmRefusal> refusal;
  CmRefused last_refused;

  // The message that transmit() returned last.
  std::array<std::uint8_t, wire::kMadBytes> mad;
  Path path;
};

}  // namespace rpcrdma::soft
