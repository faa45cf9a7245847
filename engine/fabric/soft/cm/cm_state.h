// What the CM keeps of one connection (the states are those of IBA 12.9.7, without LAP).
#pragma once

#include "cm_list.h"
#include "cm_timers.h"

#include <cstdint>
#include <vector>

#include <rpcrdma/soft/cm.h>

namespace rpcrdma::soft {

enum class CmState : std::uint8_t {
  kRequesting,     // active: the REQ is out
  kReplied,        // active: the REP came, the RTU waits for the owner
  kWaiting,        // passive: the REQ came, the answer waits for the owner
  kReplying,       // passive: the REP is out
  kEstablished,    // both
  kDisconnecting,  // the DREQ is out
  kTimeWait,       // over for the owner; kept to answer the peer's duplicates
};

// Messages that wait to be taken by transmit(), a bit each; they go out in this order. One that
// waits already is not asked for twice, so a flood of duplicates is answered with one message.
enum CmPending : std::uint8_t {
  kPendingReq = 1,
  kPendingMra = 2,
  kPendingRep = 4,
  kPendingRtu = 8,
  kPendingDreq = 16,
  kPendingDrep = 32,
  kPendingRej = 64,
};

// Messages as MRA and REJ name them (12.6.6, 12.6.7).
inline constexpr std::uint8_t kAboutReq = 0;
inline constexpr std::uint8_t kAboutRep = 1;
inline constexpr std::uint8_t kAboutOther = 2;

// Reasons of a REJ that the CM itself gives (table 109).
inline constexpr std::uint16_t kRejNoResources = 3;
inline constexpr std::uint16_t kRejTimeout = 4;
inline constexpr std::uint16_t kRejUnsupported = 5;
inline constexpr std::uint16_t kRejInvalidCommId = 6;
inline constexpr std::uint16_t kRejInvalidServiceId = 8;
inline constexpr std::uint16_t kRejInvalidTransport = 9;
inline constexpr std::uint16_t kRejStale = 10;
inline constexpr std::uint16_t kRejInvalidGid = 12;
inline constexpr std::uint16_t kRejInvalidMtu = 26;
inline constexpr std::uint16_t kRejConsumer = 28;

struct CmConnection {
  CmId id = 0;
  CmState state = CmState::kRequesting;
  bool active = false;
  bool was_established = false;
  bool extended = false;  // an MRA has put off the deadline since our message was last sent
  std::uint8_t pending = 0;
  std::uint8_t retries_left = 0;
  Path path;
  std::uint64_t transaction_id = 0;  // of the REQ and all that follows but DREQ and DREP
  std::uint64_t disconnect_transaction_id = 0;

  CmQueuePair local;
  std::uint16_t port = 0, source_port = 0;
  std::uint8_t path_mtu = 0, retry_count = 0, local_ack_timeout = 0;
  std::vector<std::uint8_t> private_data;  // of our message, as long as it may be sent again

  std::uint32_t remote_id = 0;  // 0 while the peer has told none
  std::uint64_t remote_guid = 0;
  std::uint32_t remote_qpn = 0;
  std::uint32_t remote_psn = 0;
  fabric::Time remote_timeout = 0;   // how long the peer waits for an answer before it repeats
  fabric::Time remote_patience = 0;  // and how long with all its repetitions
  fabric::Time give_up = 0;          // kWaiting: not longer than this, whatever the peer repeats

  std::uint16_t rej_reason = 0;  // of our REJ, to be sent or sent again; 0: none was sent
  std::uint8_t rej_about = 0;

  CmTimer timer;
  CmLinks<CmConnection> sending;    // in the list of those with pending messages
  CmLinks<CmConnection> time_wait;  // in the list of those in time-wait
};

}  // namespace rpcrdma::soft
