// A stretch of a capture in full: its messages with their bytes, their Calls with what was moved
// for them, and what else happened between. Read again from the file when somebody looks at it, so
// that rows can be small.
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
    std::uint64_t id = 0;                     // as in the store; 0: it is not there
    model::Message message;                   // with its bytes
    std::shared_ptr<const model::Call> call;  // that it is or answers; null: not in the stretch
    // What a tree shows before the fields of the bytes and behind them needs these two sides.
    roce::Side sender, receiver;
    std::uint32_t connection = 0;  // ID
    bool reverse = false;
    model::InlineThresholds thresholds;
    // The whole RPC message, where chunks hold some of it; empty otherwise, or when not all is
    // there.
    std::vector<std::uint8_t> rebuilt;
    const char* incomplete = nullptr;  // why not all is there, a clause; null: it is
  };
  // What is no message.
  struct Event {
    enum class Kind : std::uint8_t { kSetUp, kOperation, kRefusal, kSentAgain, kRecorded };
    Kind kind = Kind::kRecorded;
    std::uint64_t frame = 0;
    std::uint64_t last_frame = 0;
    std::int64_t from_ns = 0, to_ns = 0;
    std::uint32_t connection = 0;  // ID
    std::uint8_t sender = 0;       // 0 the client's end, 1 the server's
    std::uint64_t call = 0;        // ID of the Call that it is for; 0: none is known
    bool read = false;             // kOperation: an RDMA Read
    bool complete = true, suspect = false;
    std::uint64_t bytes = 0;
    std::string text;  // in a few words
  };
  std::vector<Message> messages;  // in order
  std::vector<Event> events;      // in the order of their frames
  bool cut = false;               // there was more than is put into an excerpt

  [[nodiscard]] const Message* find(std::uint64_t id) const;
};

// What is to be read again.
struct Stretch {
  std::uint64_t first_frame = 0, last_frame = 0;
  // Connections whose messages are wanted, by index; empty: all.
  std::vector<std::uint32_t> connections;
};

// Of a message: from its Call to its answer. `id`: in the store.
[[nodiscard]] Stretch stretch_of(const Content& content, std::uint64_t id);
// Of messages first..last, and their answers where those are near.
[[nodiscard]] Stretch stretch_of(const Content& content, std::uint64_t first, std::uint64_t last);

// `frames`: of Loading::frames(). Stops soon after `cancelled` is set, with what it has. Errors:
// the file cannot be read any more, or was changed.
[[nodiscard]] capture::Expected<Excerpt> read_excerpt(const Store& store, const std::string& frames,
                                                      const Stretch& stretch,
                                                      const std::atomic<bool>& cancelled);

}  // namespace rpcrdma::index
