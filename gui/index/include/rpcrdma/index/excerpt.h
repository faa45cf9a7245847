// A stretch of a capture in full: its messages with their bytes, their Calls with the RDMA
// operations, and other packets between them. It is read again from the file when somebody looks at
// it, so rows can be small.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/index/store.h>
#include <rpcrdma/model/call.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::index {

struct Excerpt {
  struct Message {
    // As in the store; 0: not in the store. So it is for a message of another view of the
    // connection, which the store does not list.
    std::uint64_t id = 0;
    SeenBy observer = SeenBy::kPackets;       // who shows it
    model::Message message;                   // with its bytes
    std::shared_ptr<const model::Call> call;  // its Call; null: not in the stretch
    // Both sides, for the tree's items before and after the fields of the bytes.
    roce::Side sender, receiver;
    std::uint32_t connection = 0;  // ID
    bool reverse = false;
    model::InlineThresholds thresholds;
    // The whole RPC message if chunks carry some of it; empty otherwise, or if bytes are missing.
    std::vector<std::uint8_t> rebuilt;
    const char* incomplete = nullptr;  // why bytes are missing, a clause; null: none are
  };
  // A packet that is not an RPC-over-RDMA message.
  struct Event {
    enum class Kind : std::uint8_t { kSetUp, kOperation, kRefusal, kSentAgain, kRecorded };
    Kind kind = Kind::kRecorded;
    std::uint64_t frame = 0;
    std::uint64_t last_frame = 0;
    std::int64_t from_ns = 0, to_ns = 0;
    std::uint32_t connection = 0;        // ID
    std::uint8_t sender = 0;             // 0 client, 1 server
    SeenBy observer = SeenBy::kPackets;  // who shows it
    std::uint64_t call = 0;              // ID of the Call that it serves; 0: not known
    bool read = false;                   // kOperation: an RDMA Read
    bool complete = true, suspect = false;
    std::uint64_t bytes = 0;
    std::uint32_t psn = 0;  // kSentAgain, kRefusal
    std::string text;       // in a few words
  };
  // When the steps of a Call happened, as one of its endpoints measured them. Times are since 1970,
  // by the clock of that endpoint, aligned as its file is; 0: it did not happen, or is not known.
  struct Measured {
    std::uint32_t xid = 0;
    std::uint32_t connection = 0;  // ID; 0: it is not in the stretch
    std::uint8_t recorder = 0;     // the end that measured: 0 client, 1 server
    bool requester = false;        // it made the Call; otherwise it executed it
    std::uint16_t attempts = 0;
    std::uint64_t frame = 0;
    std::int64_t called_ns = 0;   // made by its user; or its Send arrived
    std::int64_t sent_ns = 0;     // its Send was posted; or its Read chunks were read
    std::int64_t replied_ns = 0;  // its Reply arrived; or was posted
    std::int64_t ended_ns = 0;    // nothing of it is in flight any more
    std::int64_t credit_from_ns = 0, credit_to_ns = 0;  // waiting for a credit
    // Linux: parts of the time from `called_ns` to `sent_ns`; -1: not known.
    std::int64_t slot_wait = -1, credit_wait = -1, marshal = -1, post = -1;
  };
  std::vector<Message> messages;  // in order
  std::vector<Event> events;      // in the order of their frames
  // Of the Calls in the stretch; both ends', if the source shows both.
  std::vector<Measured> measured;
  bool cut = false;  // the stretch had more than fits into an excerpt

  [[nodiscard]] const Message* find(std::uint64_t id) const;
  // The same message as another observer shows it; null: it is not in the stretch, or nobody else
  // shows it.
  [[nodiscard]] const Message* find_as(const Message& like, SeenBy observer) const;
};

// The part of a capture to read again.
struct Stretch {
  std::uint64_t first_frame = 0, last_frame = 0;
  // Connections to include, by index; empty: all.
  std::vector<std::uint32_t> connections;
};

// The stretch of a message, from its Call to its answer. `id`: in the store.
[[nodiscard]] Stretch stretch_of(const Content& content, std::uint64_t id);
// The stretch of messages first..last, and of their answers where those are near.
[[nodiscard]] Stretch stretch_of(const Content& content, std::uint64_t first, std::uint64_t last);

// `frames`: from Loading::frames(). Stops soon after `cancelled` is set, and returns what it has.
// Errors: the file is no longer readable, or was changed.
[[nodiscard]] capture::Expected<Excerpt> read_excerpt(const Store& store, const std::string& frames,
                                                      const Stretch& stretch,
                                                      const std::atomic<bool>& cancelled);

}  // namespace rpcrdma::index
