#include "transport_fields.h"

#include <cinttypes>

namespace rpcrdma::decode {
namespace {

// Reports fields in the order of the bytes: each function begins where the previous one ended.
class LaterFields {
 public:
  LaterFields(const FieldWriter& out, const wire::LaterHeader& header) : out_(out), h_(header) {}

  void run() {
    dialect();
    flags();
    switch (h_.use) {
      case wire::HeaderUse::kError:
        return error();
      case wire::HeaderUse::kGrant:
        return;
      case wire::HeaderUse::kProperties:
        return all_properties();
      case wire::HeaderUse::kOptional:
        return optional();
      case wire::HeaderUse::kInline:
      case wire::HeaderUse::kPart:
      case wire::HeaderUse::kExternal:
        return message();
    }
  }

 private:
  void word(FieldId id, std::uint32_t value, const char* name = nullptr) {
    out_.word(id, at_, value, name);
    at_ += kWordBytes;
  }

  void dialect() { out_.text(FieldId::kDialect, wire::dialect_name(h_.dialect)); }

  void flags() {
    if (!h_.flags) return;
    const std::uint32_t f = *h_.flags;
    const auto bit = [&](FieldId id, std::uint32_t flag) {
      out_.number(id, at_, kWordBytes, (f & flag) != 0 ? 1 : 0);
    };
    out_.word(FieldId::kFlags, at_, f);
    bit(FieldId::kFlagResponse, wire::kFlagResponse);
    bit(FieldId::kFlagMore, wire::kFlagMore);
    bit(FieldId::kFlagTpMore, wire::kFlagTpMore);
    at_ += kWordBytes;
  }

  // Reports the direction if it is a word of its own.
  void direction() {
    if (h_.dialect == wire::Dialect::kCel03) {
      word(FieldId::kDirection, static_cast<std::uint32_t>(h_.direction));
    }
  }

  void message() {
    direction();
    if (h_.inv_handle) word(FieldId::kInvHandle, *h_.inv_handle);
    if (h_.remaining) word(FieldId::kRemaining, *h_.remaining);
    if (h_.call_reads) at_ = read_list(out_, at_, FieldId::kCallCount, *h_.call_reads);
    if (h_.reads) at_ = read_list(out_, at_, FieldId::kReadCount, *h_.reads);
    if (h_.writes) at_ = write_list(out_, at_, *h_.writes);
    if (h_.has_reply) reply_chunk(out_, at_, h_.reply);
  }

  void error() {
    word(FieldId::kError, h_.error, h_.error_name);
    switch (h_.error_body) {
      case wire::ErrorBody::kNone:
        return;
      case wire::ErrorBody::kVersions:
        word(FieldId::kErrorVersLow, h_.error_words[0]);
        return word(FieldId::kErrorVersHigh, h_.error_words[1]);
      case wire::ErrorBody::kMaxChunks:
        return word(FieldId::kErrorMaxChunks, h_.error_words[0]);
      case wire::ErrorBody::kMaxSegments:
        return word(FieldId::kErrorMaxSegments, h_.error_words[0]);
      case wire::ErrorBody::kWrite:
        word(FieldId::kErrorChunkIndex, h_.error_words[0]);
        return word(FieldId::kErrorLengthNeeded, h_.error_words[1]);
      case wire::ErrorBody::kLength:
        return word(FieldId::kErrorLengthNeeded, h_.error_words[0]);
    }
  }

  void optional() {
    direction();
    word(FieldId::kOptType, h_.opttype);
    out_.bytes(FieldId::kOptInfo, at_ + kWordBytes, h_.optinfo);
  }

  void property_ids(FieldId id, const std::optional<wire::PropertyIdsView>& ids) {
    if (!ids) return;
    at_ += kWordBytes;
    for (const std::uint32_t p : *ids) word(id, p, wire::property_name(h_.dialect, p));
  }

  void properties() {
    if (!h_.properties) return;
    out_.word(FieldId::kPropertyCount, at_, h_.properties->size());
    at_ += kWordBytes;
    h_.properties->for_each([&](const wire::Property& p, const std::uint8_t*) {
      const std::size_t length = 2 * kWordBytes + ((p.value.size() + 3) & ~std::size_t{3});
      const char* const name = wire::property_name(h_.dialect, p.id);
      const auto value = p.word();
      Summary summary;
      if (value) {
        summary.add("%s %" PRIu32, name, *value);
      } else {
        summary.add("%s, %zu byte%s", name, p.value.size(), plural(p.value.size()));
      }
      out_.open(FieldId::kProperty, at_, length, summary.view());
      out_.word(FieldId::kPropertyId, at_, p.id, name);
      if (value) {
        out_.word(FieldId::kPropertyValue, at_ + 2 * kWordBytes, *value);
      } else {
        out_.bytes(FieldId::kPropertyData, at_ + 2 * kWordBytes, p.value);
      }
      out_.close();
      at_ += length;
    });
  }

  void all_properties() {
    property_ids(FieldId::kPropertyDone, h_.done);
    property_ids(FieldId::kPropertyRejected, h_.rejected);
    properties();
    property_ids(FieldId::kPropertyUnchanging, h_.unchanging);
  }

  const FieldWriter& out_;
  const wire::LaterHeader& h_;
  std::size_t at_ = wire::kPrefixBytes;
};

}  // namespace

void later_fields(const FieldWriter& out, const wire::LaterHeader& header) {
  LaterFields(out, header).run();
}

}  // namespace rpcrdma::decode
