// Decodes what the bytes of a SEND show by themselves. This is much of the work on a message and
// can be done ahead of the model, in any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <rpcrdma/decode/compound_call.h>
#include <rpcrdma/decode/nfs_items.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::model {

// The items of one Call, until the model uses them. Few Calls have more than it keeps.
class KeptItems final : public decode::NfsItemSink {
 public:
  void item(const decode::NfsItem& item) override;
  void clear() {
    count_ = 0;
    complete_ = true;
  }
  // False: there were more.
  [[nodiscard]] bool complete() const { return complete_; }
  template <typename Sink>
  void pass_to(Sink& sink) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const Item& k = items_[i];
      sink.item({k.kind, k.operation, k.offset, k.length, k.value});
    }
  }

 private:
  // decode::NfsItem in fewer bytes: it stays in the cache until the model reads it.
  struct Item {
    std::uint64_t value;
    std::uint32_t offset, length;
    std::uint32_t operation;
    decode::NfsItem::Kind kind;
  };
  std::array<Item, 8> items_;  // only the first `count_` are valid
  std::uint32_t count_ = 0;
  bool complete_ = true;
};

// Points into the bytes that were decoded.
struct PredecodedSend {
  wire::Result<wire::HeaderView> header;
  wire::Result<wire::RpcView> rpc;             // of the bytes after the header
  std::uint64_t digest = 0;                    // Call::digest; 0 also if it is not a Call
  std::optional<decode::CompoundOps> ops;      // of a Call without Read chunks
  std::optional<std::uint64_t> results_asked;  // of such a Call
  KeptItems items;                             // of such a Call
};

// `send`: all bytes of one SEND.
void predecode(wire::Bytes send, PredecodedSend& out);

// The single steps, for data that becomes known only later.
[[nodiscard]] std::uint64_t digest_of(wire::Bytes rpc_message);
// The readable part of arguments: the operations of a COMPOUND, and the bytes that the Call
// requests. `removed`, `padded_from`: as for decode::parse_compound_call(). `items` receives those
// of decode::find_nfs_items().
using CallArguments = decode::CompoundCall;
[[nodiscard]] CallArguments decode_arguments(const wire::RpcCall& call, wire::Bytes body,
                                             std::span<const decode::Removed> removed,
                                             std::uint32_t padded_from, KeptItems& items);

}  // namespace rpcrdma::model
