// Headers of the later dialects of RPC-over-RDMA version 2: see dialects.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <rpcrdma/wire/chunks.h>
#include <rpcrdma/wire/dialects.h>
#include <rpcrdma/wire/error.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::wire {

// rdma_flags of Dialect::kFlags.
inline constexpr std::uint32_t kFlagResponse = 1;  // with a Reply
inline constexpr std::uint32_t kFlagMore = 2;      // the RPC message goes on in the next Send
inline constexpr std::uint32_t kFlagTpMore = 4;    // the properties go on in the next CONNPROP

// What a header of a later dialect is for.
enum class HeaderUse : std::uint8_t {
  kInline,      // an RPC message follows it, or the last part of one
  kPart,        // a part of an RPC message follows it, and another Send has more
  kExternal,    // the RPC message is in a chunk
  kError,       // ERROR
  kGrant,       // GRANT: only its credit value says something
  kProperties,  // CONNPROP and its kin
  kOptional,    // OPTIONAL, as in draft-02
};

// rdma_propval: a property of a transport, with its value as it stands there.
struct Property {
  std::uint32_t id = 0;
  Bytes value;
  // Its value as the word that all properties but HOSTAUTH are; nothing where it is none.
  [[nodiscard]] std::optional<std::uint32_t> word() const;
};

// An rdma_propset that was walked once: forward iteration.
class PropertySetView {
 public:
  PropertySetView() = default;
  // `first` is the first property.
  PropertySetView(const std::uint8_t* first, std::uint32_t count) : first_(first), count_(count) {}

  [[nodiscard]] std::uint32_t size() const { return count_; }
  [[nodiscard]] const std::uint8_t* bytes() const { return first_; }

  // With each property, where it begins.
  template <typename Function>
  void for_each(Function&& f) const {
    const std::uint8_t* p = first_;
    for (std::uint32_t i = 0; i < count_; ++i) {
      const std::size_t length = load_be32(p + 4);
      f(Property{load_be32(p), Bytes(p + 8, length)}, p);
      p += 8 + ((length + 3) & ~std::size_t{3});
    }
  }

 private:
  const std::uint8_t* first_ = nullptr;
  std::uint32_t count_ = 0;
};

// Property IDs alone, one a word.
[[nodiscard]] inline std::uint32_t load_property_id(const std::uint8_t* p) {
  return load_be32(p);
}
using PropertyIdsView = StrideView<std::uint32_t, 4, load_property_id>;

// What the words of an ERROR mean.
enum class ErrorBody : std::uint8_t {
  kNone,
  kVersions,     // rdma_vers_low, rdma_vers_high
  kMaxChunks,    // rdma_max_chunks
  kMaxSegments,  // rdma_max_segments
  kWrite,        // rdma_chunk_index, rdma_length_needed
  kLength,       // rdma_length_needed
};

// A header of a dialect other than draft-02. Views point into the span that was decoded.
struct LaterHeader {
  Dialect dialect = Dialect::kIetf03;
  std::uint32_t xid = 0;
  std::uint32_t credit = 0;
  std::uint32_t type = 0;  // rdma_htype
  HeaderUse use = HeaderUse::kInline;
  std::optional<std::uint32_t> flags;  // kFlags
  // Of kInline, kPart, kExternal and kOptional.
  MsgType direction = MsgType::kCall;
  std::optional<std::uint32_t> inv_handle;
  // Which lists a type has, whatever is in them.
  std::optional<ReadListView> call_reads;  // CALL_EXTERNAL: where the Call itself is
  std::optional<ReadListView> reads;
  std::optional<WriteListView> writes;
  bool has_reply = false;
  std::optional<WriteChunkView> reply;
  std::optional<std::uint32_t> remaining;  // bytes of the RPC message behind this part

  std::uint32_t error = 0;
  const char* error_name = "unknown";
  ErrorBody error_body = ErrorBody::kNone;
  std::array<std::uint32_t, 2> error_words{};

  // kProperties: some of these, in this order.
  std::optional<PropertyIdsView> done;
  std::optional<PropertyIdsView> rejected;
  std::optional<PropertySetView> properties;
  std::optional<PropertyIdsView> unchanging;  // rdma_nochg

  std::uint32_t opttype = 0;
  Bytes optinfo;

  std::uint32_t length = 0;  // of the header, bytes; what follows in the Send is payload
};

// A header of this dialect, which is not draft-02. As decode_header(): errors kTruncated,
// kBadValue, kUnsupported for a version other than 2; bytes behind the header are left alone.
[[nodiscard]] Result<LaterHeader> decode_later_header(Dialect dialect, Bytes message);

// What shows that a message is of a later dialect.
struct DialectEvidence {
  Dialect dialect = Dialect::kDraft02;
  const char* reason = "";  // a clause for a person
  // No message of draft-02 is likely to look like that, even a broken one: properties with the IDs
  // that the drafts give them, or an RPC message where ietf-03 has it. What a wrong word or two
  // make of a message of draft-02 is weak: a GRANT, an error, a flag.
  bool strong = false;
};

// From one message of version 2 alone; nothing where it could be draft-02's, or could be several's.
// `message` is the whole content of a Send. Where drafts disagree about a type, what fits to the
// last byte tells.
[[nodiscard]] std::optional<DialectEvidence> detect_dialect(Bytes message);

}  // namespace rpcrdma::wire
