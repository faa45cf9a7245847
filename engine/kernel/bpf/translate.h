// Turns the records of the BPF programs into trace events. The records come from the kernel, but
// their bytes from peers, so every length is checked, and what is remembered is bounded.
#pragma once

#include "records.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <rpcrdma/kernel/event_sink.h>

namespace rpcrdma::kernel {

class Translator {
 public:
  static constexpr std::size_t kMostConnections = 4096;
  static constexpr std::size_t kMostCalls = 4096;   // that wait for their Reply, per connection
  static constexpr std::size_t kMostChunks = 1024;  // whose RDMA operations run, per connection

  // Emits the events of one record of the ring. Returns false if the record makes no sense; it then
  // emits nothing.
  bool record(std::span<const std::uint8_t> bytes, EventSink& sink);
  // Emits the credits that have changed since the last call.
  void end_of_batch(EventSink& sink);
  // Returns the time of a record, by which records of several processors are ordered; 0: it
  // precedes all others, as the first record of a connection that was open before: a message that
  // was received earlier may cause it.
  [[nodiscard]] static std::int64_t order_of(std::span<const std::uint8_t> bytes);
  // Moves a record to a time that is not later than its own.
  static void move_to(std::int64_t time, std::span<std::uint8_t> bytes);

  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  // Returns the connections whose end has not been seen.
  [[nodiscard]] std::vector<scope_key> open_connections() const;

 private:
  struct Key {
    std::uint64_t object = 0;
    std::uint32_t qpn = 0, role = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::uint64_t>()(key.object * 0x9e3779b97f4a7c15U ^ key.qpn);
    }
  };
  struct Chunk {
    std::uint64_t first_id = 0;
    std::vector<std::uint32_t> lengths;
  };
  struct Connection {
    std::uint32_t number = 0;
    bool ended = false;
    std::list<Key>::iterator age;
    trace::Credits credits, emitted;
    bool credits_known = false;
    // Server: Calls without a Reply. Client: the status of Calls that got an RDMA_ERROR.
    std::map<std::uint32_t, std::uint8_t> calls;
    std::uint64_t next_operation = 1;
    std::map<std::uint64_t, Chunk> chunks;  // by completion ID
  };

  Connection& find(const scope_record& record, EventSink& sink);
  Connection& add(const Key& key, EventSink& sink);
  void credits_of_message(Connection& connection, const scope_message& message,
                          std::span<const std::uint8_t> bytes);

  void on_connection(const scope_connection& record, EventSink& sink);
  void on_connection_end(const scope_connection_end& record, EventSink& sink);
  void on_message(const scope_message& record, std::span<const std::uint8_t> bytes,
                  EventSink& sink);
  void on_operations(const scope_operations& record, EventSink& sink);
  void on_operation_end(const scope_operation_end& record, EventSink& sink);
  void on_memory(const scope_memory& record, EventSink& sink);
  void on_credit_wait(const scope_credit_wait& record, EventSink& sink);
  void on_call(const scope_call& record, EventSink& sink);
  void on_call_end(const scope_call_end& record, EventSink& sink);
  void on_error(const scope_error& record, EventSink& sink);
  static void emit_error(const Connection& connection, std::int64_t time, std::uint32_t xid,
                         std::uint8_t side, std::string_view text, EventSink& sink);

  std::unordered_map<Key, Connection, KeyHash> connections_;
  std::list<Key> ages_;      // the connection used last is at the back
  std::int64_t latest_ = 0;  // time of the latest record
};

}  // namespace rpcrdma::kernel
