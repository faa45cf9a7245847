// The connection manager's tables, and what of them each part of it uses. Messages of which no
// connection knows are answered from themselves (CmAnswer); a connection that is over stays for a
// while in time-wait to answer duplicates, unless its place is needed.
#pragma once

#include "cm_ids.h"
#include "cm_list.h"
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

// Something that a peer chose: a communication ID or a QPN. Peers may choose badly on purpose, so
// these are kept in trees and not hashed.
using CmRemoteKey = std::pair<fabric::Address, std::uint32_t>;

// What is the same when a REQ is sent again.
struct CmRefused {
  fabric::Address peer;
  std::uint32_t remote_id = 0;
  std::uint64_t transaction_id = 0;
  fabric::Time until = 0;  // then its sender has given up, and it is another one
};

// Answers without a connection that wait for transmit(); who asks for more at a time repeats what
// was not answered.
inline constexpr std::size_t kMaxCmAnswers = 1024;
// Events that come of one message, or one call, at most.
inline constexpr std::size_t kCmEventsAtOnce = 4;

struct ConnectionManager::Impl {
  Impl(const CmLimits& given, std::uint64_t seed);

  // --- The table (cm_table.cc)

  // Places for what comes of a message, so that nothing that is begun for it stops half-way.
  void make_room();

  [[nodiscard]] CmConnection* find(CmId id);
  // The same, if it is between the two addresses of `path`.
  [[nodiscard]] CmConnection* find(CmId id, const Path& path);
  // Takes the place of the oldest in time-wait if all are taken; null when there is none.
  [[nodiscard]] CmConnection* create(const Path& path);
  void erase(CmConnection& c);

  void ask(CmConnection& c, CmPending pending);
  void ask_rej(CmConnection& c, std::uint8_t about, std::uint16_t reason);
  bool answer(CmAnswer a);  // false: too many wait, and it is dropped
  CmEvent& emit(const CmConnection& c, CmEventType type);

  // Our message is out: until then an answer is expected.
  void expect_answer(CmConnection& c, fabric::Time now);
  // It was kWaiting, and was answered or is over.
  void leave_waiting(const CmConnection& c);
  // Its owner was told, or knows, that it is over.
  void enter_time_wait(CmConnection& c, fabric::Time now);
  // Whatever began is given up, with `reason` where that takes a REJ; kDisconnect is told.
  void end(CmConnection& c, std::uint16_t reason, fabric::Time now);
  // Our message was not answered in time.
  void timed_out(CmConnection& c, fabric::Time now);
  // The peer begins anew with an ID or a QPN that `old` has: then `old` is stale, and ends
  // (12.9.8.3). True if what is new has to be refused for it.
  [[nodiscard]] bool begins_anew(CmConnection& old, fabric::Time now);
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
  std::map<CmRemoteKey, CmConnection*> by_remote_id;   // passive; time-wait too
  std::map<CmRemoteKey, CmConnection*> by_remote_qpn;  // the last of each QPN; time-wait too
  std::map<fabric::Address, std::size_t> waiting;      // how many of each peer are kWaiting
  std::size_t waiting_total = 0;

  CmTimers timers;
  CmList<CmConnection, &CmConnection::sending> sending;
  CmList<CmConnection, &CmConnection::time_wait> time_wait;  // the oldest is first
  fabric::Ring<CmAnswer> answers{kMaxCmAnswers};
  fabric::Ring<CmEvent> events{SIZE_MAX};

  // By receive(); and the last REQ that was refused, so that it is told once.
  std::optional<CmRefusal> refusal;
  CmRefused last_refused;

  // What transmit() gave out last.
  std::array<std::uint8_t, wire::kMadBytes> mad;
  Path path;
};

}  // namespace rpcrdma::soft
