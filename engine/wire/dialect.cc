// Decodes the headers of the later dialects of RPC-over-RDMA version 2, and detects the dialect of
// a single message.
#include "list_decoder.h"

#include <string_view>

#include <rpcrdma/wire/dialect.h>

namespace rpcrdma::wire {
namespace {

// These drafts have no rules of their own; errors name the dialect in place of a rule.
constexpr const char* kNames[] = {"draft-02", "cel-03", "flags", "ietf-03"};

constexpr std::uint32_t kAllFlags = kFlagResponse | kFlagMore | kFlagTpMore;
constexpr std::uint32_t kMsg = 0, kNomsg = 1, kError = 4;
constexpr std::uint32_t kOptional = 5, kCelConnprop = 6, kCelReqprop = 7, kCelResprop = 8,
                        kCelUpdprop = 9;
constexpr std::uint32_t kFlagsConnprop = 5, kFlagsGrant = 6;
constexpr std::uint32_t kIetfGrant = 5, kConnpropMiddle = 6, kConnpropFinal = 7, kCallMiddle = 9,
                        kCallInline = 10, kReplyMiddle = 12, kReplyInline = 13;

struct ErrorKind {
  std::uint32_t code;
  const char* name;
  ErrorBody body;
};
// cel-05 to -07; -08 and -09 have SYSTEM in place of INVAL_OPTION.
constexpr ErrorKind kEarlyErrors[] = {
    {1, "RDMA2_ERR_VERS", ErrorBody::kVersions},
    {2, "RDMA2_ERR_BAD_XDR", ErrorBody::kNone},
    {3, "RDMA2_ERR_INVAL_PROC", ErrorBody::kNone},
    {4, "RDMA2_ERR_READ_CHUNKS", ErrorBody::kMaxChunks},
    {5, "RDMA2_ERR_WRITE_CHUNKS", ErrorBody::kMaxChunks},
    {6, "RDMA2_ERR_SEGMENTS", ErrorBody::kMaxSegments},
    {7, "RDMA2_ERR_WRITE_RESOURCE", ErrorBody::kWrite},
    {8, "RDMA2_ERR_REPLY_RESOURCE", ErrorBody::kLength},
    {9, "RDMA2_ERR_INVAL_OPTION", ErrorBody::kNone},
    {10, "RDMA2_ERR_SYSTEM", ErrorBody::kNone},
};
// From draft-ietf-nfsv4-rpcrdma-version-two-01 on.
constexpr ErrorKind kErrors[] = {
    {1, "RDMA2_ERR_VERS", ErrorBody::kVersions},
    {2, "RDMA2_ERR_BAD_XDR", ErrorBody::kNone},
    {3, "RDMA2_ERR_BAD_PROPVAL", ErrorBody::kNone},
    {4, "RDMA2_ERR_INVAL_HTYPE", ErrorBody::kNone},
    {5, "RDMA2_ERR_INVAL_CONT", ErrorBody::kNone},
    {6, "RDMA2_ERR_READ_CHUNKS", ErrorBody::kMaxChunks},
    {7, "RDMA2_ERR_WRITE_CHUNKS", ErrorBody::kMaxChunks},
    {8, "RDMA2_ERR_SEGMENTS", ErrorBody::kMaxSegments},
    {9, "RDMA2_ERR_WRITE_RESOURCE", ErrorBody::kWrite},
    {10, "RDMA2_ERR_REPLY_RESOURCE", ErrorBody::kLength},
    {11, "RDMA2_ERR_VERS_MISMATCH", ErrorBody::kNone},
    {100, "RDMA2_ERR_SYSTEM", ErrorBody::kNone},
};

std::span<const ErrorKind> errors_of(Dialect dialect) {
  return dialect == Dialect::kCel03 ? std::span<const ErrorKind>(kEarlyErrors)
                                    : std::span<const ErrorKind>(kErrors);
}

const ErrorKind* find_error(std::span<const ErrorKind> errors, std::uint32_t code) {
  for (const ErrorKind& e : errors) {
    if (e.code == code) return &e;
  }
  return nullptr;
}

constexpr std::size_t words_of(ErrorBody body) {
  switch (body) {
    case ErrorBody::kNone:
      return 0;
    case ErrorBody::kMaxChunks:
    case ErrorBody::kMaxSegments:
    case ErrorBody::kLength:
      return 1;
    case ErrorBody::kVersions:
    case ErrorBody::kWrite:
      return 2;
  }
  return 0;
}

class LaterDecoder : public ListDecoder {
 public:
  LaterDecoder(Dialect dialect, Bytes message, LaterHeader& out)
      : ListDecoder(message), rule_(dialect_name(dialect)), out_(out) {
    out_.dialect = dialect;
  }

  [[nodiscard]] bool run() {
    if (!whole_words(4, "HDR-01", "message ends inside the four fixed words")) return false;
    out_.xid = take();
    if (take() != 2) return failed(Errc::kUnsupported, begin_ + 4, "HDR-03", "rdma_vers is not 2");
    out_.credit = take();
    out_.type = take();
    if (!body()) return false;
    out_.length = static_cast<std::uint32_t>(p_ - begin_);
    return true;
  }

 private:
  bool body() {
    switch (out_.dialect) {
      case Dialect::kCel03:
        return cel03();
      case Dialect::kFlags:
        return flags();
      case Dialect::kIetf03:
        return ietf03();
      case Dialect::kDraft02:
        break;
    }
    return unknown_type();
  }

  bool unknown_type() {
    return failed(Errc::kBadValue, begin_ + 12, rule_, "rdma_htype is not defined by the dialect");
  }
  bool words(std::size_t count, const char* what) { return whole_words(count, rule_, what); }

  bool cel03() {
    switch (out_.type) {
      case kMsg:
      case kNomsg:
        return direction() &&
               message(out_.type == kMsg ? HeaderUse::kInline : HeaderUse::kExternal);
      case kError:
        out_.direction = MsgType::kReply;
        return error_body();
      case kOptional:
        return optional();
      case kCelConnprop:
        return properties() && property_ids(out_.unchanging);
      case kCelReqprop:
      case kCelUpdprop:
        return properties();
      case kCelResprop:
        return property_ids(out_.done) && property_ids(out_.rejected) && properties();
      default:
        return unknown_type();
    }
  }

  bool flags() {
    if (!words(1, "header ends before rdma_flags does")) return false;
    const std::uint32_t f = load_be32(p_);
    if (f > kAllFlags) {
      return failed(Errc::kBadValue, p_, rule_, "rdma_flags has an undefined bit set");
    }
    p_ += 4;
    out_.flags = f;
    out_.direction = (f & kFlagResponse) != 0 ? MsgType::kReply : MsgType::kCall;
    switch (out_.type) {
      case kMsg:
        return message((f & kFlagMore) != 0 ? HeaderUse::kPart : HeaderUse::kInline);
      case kNomsg:
        return message(HeaderUse::kExternal);
      case kError:
        return error_body();
      case kFlagsConnprop:
        return properties();
      case kFlagsGrant:
        out_.use = HeaderUse::kGrant;
        return true;
      default:
        return unknown_type();
    }
  }

  bool ietf03() {
    out_.direction = out_.type >= kReplyExternal ? MsgType::kReply : MsgType::kCall;
    switch (out_.type) {
      case kError:
        out_.direction = MsgType::kReply;
        return error_body();
      case kIetfGrant:
        out_.use = HeaderUse::kGrant;
        return true;
      case kConnpropMiddle:
      case kConnpropFinal:
        return properties();
      case kCallExternal:
        out_.use = HeaderUse::kExternal;
        return inv_handle() && read_list(out_.call_reads.emplace(), rule_) && call_lists();
      case kCallInline:
        return inv_handle() && call_lists();
      case kCallMiddle:
      case kReplyMiddle:
        out_.use = HeaderUse::kPart;
        if (!words(1, "header ends before rdma_remaining does")) return false;
        out_.remaining = take();
        return true;
      case kReplyExternal:
        out_.use = HeaderUse::kExternal;
        return write_list(out_.writes.emplace(), rule_) && reply();
      case kReplyInline:
        return write_list(out_.writes.emplace(), rule_);
      default:
        return unknown_type();
    }
  }

  bool direction() {
    if (!words(1, "header ends before the direction does")) return false;
    const std::uint32_t value = load_be32(p_);
    if (value > 1) return failed(Errc::kBadValue, p_, rule_, "direction is not CALL or REPLY");
    out_.direction = static_cast<MsgType>(value);
    p_ += 4;
    return true;
  }

  bool inv_handle() {
    if (!words(1, "header ends before rdma_inv_handle does")) return false;
    out_.inv_handle = take();
    return true;
  }

  bool reply() {
    out_.has_reply = true;
    return reply_chunk(out_.reply, rule_);
  }

  bool call_lists() {
    return read_list(out_.reads.emplace(), rule_) && write_list(out_.writes.emplace(), rule_) &&
           reply();
  }

  bool message(HeaderUse use) {
    out_.use = use;
    return inv_handle() && call_lists();
  }

  bool error_body() {
    out_.use = HeaderUse::kError;
    if (!words(1, "header ends before rdma_err does")) return false;
    out_.error = take();
    const ErrorKind* kind = find_error(errors_of(out_.dialect), out_.error);
    // The first drafts with flags use the earlier error numbers; the length decides.
    if (out_.dialect == Dialect::kFlags &&
        (kind == nullptr || left() != 4 * words_of(kind->body))) {
      const ErrorKind* const early = find_error(kEarlyErrors, out_.error);
      if (early != nullptr && left() == 4 * words_of(early->body)) kind = early;
    }
    if (kind == nullptr) return true;
    out_.error_name = kind->name;
    out_.error_body = kind->body;
    const std::size_t count = words_of(kind->body);
    if (!words(count, "header ends inside the body of an error")) return false;
    for (std::size_t i = 0; i < count; ++i) out_.error_words[i] = take();
    return true;
  }

  bool optional() {
    out_.use = HeaderUse::kOptional;
    if (!direction()) return false;
    if (!words(2, "header ends before rdma_optinfo begins")) return false;
    out_.opttype = take();
    return opaque(out_.optinfo, rule_, "header ends inside rdma_optinfo");
  }

  bool properties() {
    out_.use = HeaderUse::kProperties;
    if (!words(1, "header ends before the number of properties does")) return false;
    const std::uint32_t count = take();
    const std::uint8_t* const first = p_;
    // Each property takes at least two words, so the loop ends with the bytes.
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!words(2, "header ends before its properties do")) return false;
      p_ += 4;
      Bytes value;
      if (!opaque(value, rule_, "header ends inside a property")) return false;
    }
    out_.properties.emplace(first, count);
    return true;
  }

  bool property_ids(std::optional<PropertyIdsView>& ids) {
    out_.use = HeaderUse::kProperties;
    if (!words(1, "header ends before the number of properties does")) return false;
    const std::uint32_t count = take();
    if (count > left() / 4) {
      return failed(Errc::kTruncated, p_, rule_, "header ends before its properties' IDs do");
    }
    ids.emplace(p_, count);
    p_ += std::size_t{4} * count;
    return true;
  }

  const char* const rule_;
  LaterHeader& out_;
};

// Returns whether the header accounts for every byte of the message.
bool fits(Dialect dialect, Bytes message) {
  const auto header = decode_later_header(dialect, message);
  return header && header->length == message.size();
}

// Returns whether an RPC message follows the header, is in a chunk, or continues after this part.
bool is_call_or_reply(Bytes message) {
  const auto header = decode_later_header(Dialect::kIetf03, message);
  if (!header) return false;
  const std::size_t left = message.size() - header->length;
  switch (header->use) {
    case HeaderUse::kExternal:
      return left == 0;
    case HeaderUse::kPart:
      return left != 0 && *header->remaining != 0;
    case HeaderUse::kInline:
      return left >= 4 && load_be32(message.data() + header->length) == header->xid;
    default:
      return false;
  }
}

using Evidence = std::optional<DialectEvidence>;

// Types 0 and 1 are the same in all dialects that have them, except for flags above RESPONSE.
Evidence of_message(Bytes message) {
  if (message.size() < 20) return std::nullopt;
  const std::uint32_t flags = load_be32(message.data() + 16);
  if (flags < kFlagMore || flags > kAllFlags) return std::nullopt;
  if (!decode_later_header(Dialect::kFlags, message)) return std::nullopt;
  return DialectEvidence{Dialect::kFlags, "an rdma_flags with MORE or TPMORE"};
}

Evidence of_error(Bytes message) {
  // An error that is valid in draft-02 is ambiguous.
  const auto plain = decode_header(message);
  if (plain && plain->length == message.size()) return std::nullopt;
  const auto known = [&](Dialect dialect) {
    const auto header = decode_later_header(dialect, message);
    return header && header->length == message.size() &&
           std::string_view(header->error_name) != "unknown";
  };
  const bool early = known(Dialect::kCel03), late = known(Dialect::kIetf03),
             flags = known(Dialect::kFlags);
  if (flags && !early && !late) {
    return DialectEvidence{Dialect::kFlags, "an RDMA2_ERROR with rdma_flags"};
  }
  if (message.size() < 20 || load_be32(message.data() + 16) < 6) return std::nullopt;
  if (late) return DialectEvidence{Dialect::kIetf03, "an rdma_err that only later drafts define"};
  if (early) return DialectEvidence{Dialect::kCel03, "an rdma_err that draft -03 introduced"};
  return std::nullopt;
}

Evidence of_type_5(Bytes message) {
  if (message.size() == kPrefixBytes) {
    return DialectEvidence{Dialect::kIetf03, "an RDMA2_GRANT without flags"};
  }
  const auto optional = decode_header(message);
  if (optional && optional->length == message.size()) return std::nullopt;
  if (!fits(Dialect::kFlags, message)) return std::nullopt;
  return DialectEvidence{Dialect::kFlags, "an RDMA2_CONNPROP of type 5"};
}

Evidence of_type_6(Bytes message) {
  if (message.size() == kPrefixBytes + 4 && fits(Dialect::kFlags, message)) {
    return DialectEvidence{Dialect::kFlags, "an RDMA2_GRANT of type 6"};
  }
  if (fits(Dialect::kIetf03, message)) {
    return DialectEvidence{Dialect::kIetf03, "an RDMA2_CONNPROP_MIDDLE"};
  }
  if (fits(Dialect::kCel03, message)) {
    return DialectEvidence{Dialect::kCel03, "an RDMA2_CONNPROP of type 6"};
  }
  return std::nullopt;
}

// Types 8 and 9 are Calls, unless they decode as properties to the last byte.
Evidence of_later_type(std::uint32_t type, Bytes message) {
  static constexpr const char* kReasons[] = {"an RDMA2_CALL_EXTERNAL", "an RDMA2_CALL_MIDDLE",
                                             "an RDMA2_CALL_INLINE",   "an RDMA2_REPLY_EXTERNAL",
                                             "an RDMA2_REPLY_MIDDLE",  "an RDMA2_REPLY_INLINE"};
  const bool of_call = is_call_or_reply(message);
  if (type == kCelUpdprop || (type == kCelResprop && !of_call)) {
    if (fits(Dialect::kCel03, message)) {
      return DialectEvidence{Dialect::kCel03,
                             type == kCelResprop ? "an RDMA2_RESPROP" : "an RDMA2_UPDPROP"};
    }
  }
  if (!of_call) return std::nullopt;
  return DialectEvidence{Dialect::kIetf03, kReasons[type - kCallExternal]};
}

bool known_properties(Dialect dialect, const PropertySetView& properties) {
  bool known = properties.size() != 0;
  properties.for_each([&](const Property& p, const std::uint8_t*) {
    known = known && std::string_view(property_name(dialect, p.id)) != "unknown";
  });
  return known;
}

bool is_strong(Dialect dialect, Bytes message) {
  const auto header = decode_later_header(dialect, message);
  if (!header) return false;
  switch (header->use) {
    case HeaderUse::kProperties:
      return header->properties && known_properties(dialect, *header->properties);
    case HeaderUse::kInline:
      return dialect == Dialect::kIetf03;  // the XID of the RPC message repeats the header's
    case HeaderUse::kExternal:
      return dialect == Dialect::kIetf03 && ((header->call_reads && !header->call_reads->empty()) ||
                                             (header->reply && !header->reply->empty()));
    default:
      return false;
  }
}

Evidence of_type(std::uint32_t type, Bytes message) {
  switch (type) {
    case kMsg:
    case kNomsg:
      return of_message(message);
    case kError:
      return of_error(message);
    case kOptional:
      return of_type_5(message);
    case kConnpropMiddle:
      return of_type_6(message);
    case kConnpropFinal:
      // REQPROP of cel-03 has the same bytes, but is only sent after properties were rejected.
      if (!fits(Dialect::kIetf03, message)) return std::nullopt;
      return DialectEvidence{Dialect::kIetf03, "an RDMA2_CONNPROP_FINAL"};
    case kCallExternal:
    case kCallMiddle:
    case kCallInline:
    case kReplyExternal:
    case kReplyMiddle:
    case kReplyInline:
      return of_later_type(type, message);
    default:
      return std::nullopt;
  }
}

}  // namespace

const char* dialect_name(Dialect dialect) {
  return kNames[static_cast<std::size_t>(dialect)];
}

const char* dialect_drafts(Dialect dialect) {
  switch (dialect) {
    case Dialect::kDraft02:
      return "draft-cel-nfsv4-rpcrdma-version-two-00 to -02";
    case Dialect::kCel03:
      return "draft-cel-nfsv4-rpcrdma-version-two-03 to -07";
    case Dialect::kFlags:
      return "draft-cel-nfsv4-rpcrdma-version-two-08 to draft-ietf-nfsv4-rpcrdma-version-two-02";
    case Dialect::kIetf03:
      return "draft-ietf-nfsv4-rpcrdma-version-two-03 to -07";
  }
  return "";
}

std::optional<std::uint32_t> Property::word() const {
  if (value.size() != 4) return std::nullopt;
  return load_be32(value.data());
}

Result<LaterHeader> decode_later_header(Dialect dialect, Bytes message) {
  Result<LaterHeader> result;
  LaterDecoder decoder(dialect, message, *result);
  if (!decoder.run()) result = tl::unexpected(decoder.error());
  return result;
}

std::optional<DialectEvidence> detect_dialect(Bytes message) {
  const auto prefix = decode_prefix(message);
  if (!prefix || prefix->vers != 2) return std::nullopt;
  Evidence evidence = of_type(prefix->proc, message);
  if (evidence) evidence->strong = is_strong(evidence->dialect, message);
  return evidence;
}

const char* later_type_name(Dialect dialect, std::uint32_t type) {
  static constexpr const char* kCel[] = {"RDMA2_CONNPROP", "RDMA2_REQPROP", "RDMA2_RESPROP",
                                         "RDMA2_UPDPROP"};
  static constexpr const char* kIetf[] = {
      "RDMA2_ERROR",         "RDMA2_GRANT",       "RDMA2_CONNPROP_MIDDLE", "RDMA2_CONNPROP_FINAL",
      "RDMA2_CALL_EXTERNAL", "RDMA2_CALL_MIDDLE", "RDMA2_CALL_INLINE",     "RDMA2_REPLY_EXTERNAL",
      "RDMA2_REPLY_MIDDLE",  "RDMA2_REPLY_INLINE"};
  switch (dialect) {
    case Dialect::kDraft02:
      break;
    case Dialect::kCel03:
      if (type >= kCelConnprop && type <= kCelUpdprop) return kCel[type - kCelConnprop];
      break;
    case Dialect::kFlags:
      if (type == kFlagsConnprop) return "RDMA2_CONNPROP";
      if (type == kFlagsGrant) return "RDMA2_GRANT";
      break;
    case Dialect::kIetf03:
      return type >= kError && type <= kReplyInline ? kIetf[type - kError] : "unknown";
  }
  return proc_name(2, type);
}

const char* later_error_name(Dialect dialect, std::uint32_t error) {
  if (dialect == Dialect::kDraft02) return rdma_err_name(2, error);
  const ErrorKind* const kind = find_error(errors_of(dialect), error);
  return kind != nullptr ? kind->name : "unknown";
}

const char* property_name(Dialect dialect, std::uint32_t id) {
  static constexpr const char* kFirst[] = {"RBSIZ", "BRS"};
  static constexpr const char* kAll[] = {"SBSIZ", "RBSIZ", "RSSIZ", "RCSIZ", "BRS", "HOSTAUTH"};
  const auto all = dialect == Dialect::kCel03 ? std::span<const char* const>(kFirst)
                                              : std::span<const char* const>(kAll);
  return id >= 1 && id <= all.size() ? all[id - 1] : "unknown";
}

}  // namespace rpcrdma::wire
