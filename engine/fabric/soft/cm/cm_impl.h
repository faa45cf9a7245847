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

// The half-open connections of one requester, the oldest first.
struct CmRequester {
  std::size_t count = 0;
  CmList<CmConnection, &CmConnection::of_requester> connections;
};

// Whose half-open connections count together: an IPv4 address, or a /64 of IPv6, of which one host
// can use every address. Hosts of one link share fe80::/64, so they share their places.
[[nodiscard]] fabric::Address cm_requester(const fabric::Address& address);

// Answers without a connection that wait for transmit(). Further ones are dropped; the peer
// retransmits its message.
inline constexpr std::size_t kMaxCmAnswers = 1024;
// The maximum number of events from one message or one call.
inline constexpr std::size_t kCmEventsAtOnce = 4;

struct ConnectionManager::Impl {
  Impl(const CmLimits& given, const Secret& secret);

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
  // The connection is over for its owner.
  void enter_time_wait(CmConnection& c, fabric::Time now);
  // Aborts the connection in any state, with a REJ for `reason` where one is due, and emits
  // kDisconnect.
  void end(CmConnection& c, std::uint16_t reason, fabric::Time now);
  // Our message was not answered in time.
  void timed_out(CmConnection& c, fabric::Time now);
  // The peer has started a new connection with an ID or a QPN of `old`, which is therefore stale
  // and ends (12.9.8.3). It must have proved that: a REQ alone, from whoever, ends nothing. Returns
  // false if `old` was over.
  bool peer_restarted(CmConnection& old, fabric::Time now);

  // --- Half-open connections, of peers that have not proved their addresses (cm_half_open.cc)

  // Makes room for one more half-open connection; false: there is none.
  [[nodiscard]] bool make_half_open_room(const fabric::Address& peer, fabric::Time now);
  // May throw std::bad_alloc; then nothing has changed.
  void enter_half_open(CmConnection& c);
  void leave_half_open(CmConnection& c);
  // Whether one more message may be sent to the peer: any number, if it has proved its address;
  // else as many as came, so that a forged address gets no more bytes than its forger sent. A peer
  // that has another connection and few half-open ones counts as proven.
  [[nodiscard]] bool may_send(const CmConnection& c) const;

  // --- Messages: cm_passive.cc

  void on(const wire::CmReq& m, const wire::MadHeader& h, const Path& path, fabric::Time now);
  void repeated_req(CmConnection& c, fabric::Time now);
  void refuse(const wire::CmReq& m, const wire::MadHeader& h, const Path& path,
              std::uint16_t reason, fabric::Time now, const char* why = "");
  // Reports a REQ that was not admitted, once.
  void report(const wire::CmReq& m, const wire::MadHeader& h, const Path& path,
              std::uint16_t reason, fabric::Time now, const char* why);
  void admit(const wire::CmReq& m, const wire::MadHeader& h, const Path& path, CmId replaced,
             fabric::Time now);
  void on(const wire::CmRtu& m, const wire::MadHeader& h, const Path& path, fabric::Time now);
  void established(CmConnection& c, fabric::Time now);

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
  std::map<CmRemoteKey, CmConnection*> by_remote_id;   // passive; the last of each; with time-wait
  std::map<CmRemoteKey, CmConnection*> by_remote_qpn;  // proven; the last of each; with time-wait
  std::map<fabric::Address, CmRequester> requesters;   // of half-open connections
  std::size_t half_open_total = 0;

  CmTimers timers;
  CmList<CmConnection, &CmConnection::sending> sending;
  CmList<CmConnection, &CmConnection::time_wait> time_wait;  // oldest first
  CmList<CmConnection, &CmConnection::half_open> half_open;  // oldest first
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
