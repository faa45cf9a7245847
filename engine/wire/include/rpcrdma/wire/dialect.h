// Headers of the later dialects of RPC-over-RDMA version 2 (see dialects.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <rpcrdma/wire/chunks.h>
#include <rpcrdma/wire/dialects.h>
#include <rpcrdma/wire/error.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::wire {

// Bits of rdma_flags in Dialect::kFlags.
inline constexpr std::uint32_t kFlagResponse = 1;  // set in a Reply
inline constexpr std::uint32_t kFlagMore = 2;      // the RPC message continues in the next Send
inline constexpr std::uint32_t kFlagTpMore = 4;    // the properties continue in the next CONNPROP

// The purpose of a header of a later dialect.
enum class HeaderUse : std::uint8_t {
  kInline,      // followed by an RPC message, or by the last part of one
  kPart,        // followed by a part of an RPC message that continues in another Send
  kExternal,    // the RPC message is in a chunk
  kError,       // ERROR
  kGrant,       // GRANT: carries only a credit value
  kProperties,  // CONNPROP and similar types
  kOptional,    // OPTIONAL, as in draft-02
};

// rdma_propval: a transport property and its encoded value.
struct Property {
  std::uint32_t id = 0;
  Bytes value;
  // Returns the value as one word, the type of every property but HOSTAUTH; nothing if it has
  // another length.
  [[nodiscard]] std::optional<std::uint32_t> word() const;
};

// An rdma_propset, checked once by the decoder. It allows forward iteration only.
class PropertySetView {
 public:
  PropertySetView() = default;
  // `first` points at the first property.
  PropertySetView(const std::uint8_t* first, std::uint32_t count) : first_(first), count_(count) {}

  [[nodiscard]] std::uint32_t size() const { return count_; }
  [[nodiscard]] const std::uint8_t* bytes() const { return first_; }

  // Calls `f` with each property and the position where it begins.
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

// A list of property IDs without values, one word each.
[[nodiscard]] inline std::uint32_t load_property_id(const std::uint8_t* p) {
  return load_be32(p);
}
using PropertyIdsView = StrideView<std::uint32_t, 4, load_property_id>;

// The meaning of the words that follow the code in an ERROR.
enum class ErrorBody : std::uint8_t {
  kNone,
  kVersions,     // rdma_vers_low, rdma_vers_high
  kMaxChunks,    // rdma_max_chunks
  kMaxSegments,  // rdma_max_segments
  kWrite,        // rdma_chunk_index, rdma_length_needed
  kLength,       // rdma_length_needed
};

// A header of a dialect other than draft-02. Views point into the decoded span.
struct LaterHeader {
  Dialect dialect = Dialect::kIetf03;
  std::uint32_t xid = 0;
  std::uint32_t credit = 0;
  std::uint32_t type = 0;  // rdma_htype
  HeaderUse use = HeaderUse::kInline;
  std::optional<std::uint32_t> flags;  // kFlags
  // Set for kInline, kPart, kExternal and kOptional.
  MsgType direction = MsgType::kCall;
  std::optional<std::uint32_t> inv_handle;
  // The lists that the header type defines, whether empty or not.
  std::optional<ReadListView> call_reads;  // CALL_EXTERNAL: holds the Call itself
  std::optional<ReadListView> reads;
  std::optional<WriteListView> writes;
  bool has_reply = false;
  std::optional<WriteChunkView> reply;
  std::optional<std::uint32_t> remaining;  // bytes of the RPC message after this part

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

  std::uint32_t length = 0;  // of the header, in bytes; the rest of the Send is payload
};

// Decodes a header of `dialect`, which is not draft-02. Errors as in decode_header(): kTruncated,
// kBadValue, kUnsupported for a version other than 2. Bytes after the header are ignored.
[[nodiscard]] Result<LaterHeader> decode_later_header(Dialect dialect, Bytes message);

// The reason to conclude that a message is in a later dialect.
struct DialectEvidence {
  Dialect dialect = Dialect::kDraft02;
  const char* reason = "";  // a clause for the user
  // A draft-02 message, even a broken one, is unlikely to look like this: properties with the IDs
  // that the drafts assign, or an RPC message at the place where ietf-03 has it. Evidence is weak
  // if one or two wrong words in a draft-02 message could produce it: a GRANT, an error, a flag.
  bool strong = false;
};

// Detects the dialect from a single version 2 message, the whole content of a Send. Returns nothing
// if the message could be draft-02 or fits several dialects. Where drafts disagree about a type,
// the format that accounts for every byte decides.
[[nodiscard]] std::optional<DialectEvidence> detect_dialect(Bytes message);

}  // namespace rpcrdma::wire
