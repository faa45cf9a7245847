// Writes logged fields into Wireshark's tree, with links to RDMA operations and names of values.
#include "render.h"

#include "plugin.h"

#include <algorithm>
#include <array>

namespace rpcrdma::wireshark {

namespace {

using annotations::LoggedField;
using decode::FieldId;
using decode::FieldSpec;
using decode::FieldType;

// Marks an item without bytes as generated: its value follows from other data.
proto_item* mark(proto_item* item, int length) {
  if (length == 0 && item != nullptr) proto_item_set_generated(item);
  return item;
}

nstime_t time_of(std::uint64_t value) {
  const auto ns = static_cast<std::int64_t>(value);
  constexpr std::int64_t kSecond = 1'000'000'000;
  nstime_t t;
  t.secs = static_cast<time_t>(ns / kSecond);
  t.nsecs = static_cast<int>(ns % kSecond);
  return t;
}

proto_item* add_number(const FieldSpec& field, const LoggedField& e, tvbuff_t* tvb, int at,
                       int length, proto_tree* tree) {
  const int id = hf(field.id);
  const bool named = e.text_length != 0;
  switch (field.type) {
    case FieldType::kUint8:
    case FieldType::kUint16:
    case FieldType::kUint24:
    case FieldType::kUint32: {
      const auto value = static_cast<guint32>(e.value);
      if (!named) return proto_tree_add_uint(tree, id, tvb, at, length, value);
      return proto_tree_add_uint_format_value(tree, id, tvb, at, length, value, "%s (%u)", e.text,
                                              value);
    }
    case FieldType::kUint64:
      return proto_tree_add_uint64(tree, id, tvb, at, length, e.value);
    case FieldType::kInt64:
      return proto_tree_add_int64(tree, id, tvb, at, length, static_cast<gint64>(e.value));
    case FieldType::kBool:
      return proto_tree_add_boolean(tree, id, tvb, at, length, e.value != 0 ? 1 : 0);
    case FieldType::kIpv4:
      return proto_tree_add_ipv4(tree, id, tvb, at, length, g_htonl(static_cast<guint32>(e.value)));
    case FieldType::kFrame:
      return proto_tree_add_uint(tree, id, tvb, at, length, static_cast<guint32>(e.value));
    case FieldType::kDuration:
    case FieldType::kTime: {
      const nstime_t t = time_of(e.value);
      return proto_tree_add_time(tree, id, tvb, at, length, &t);
    }
    case FieldType::kBytes:
    case FieldType::kString:
    case FieldType::kIpv6:
    case FieldType::kSubtree:
    case FieldType::kAddress:
      break;
  }
  return nullptr;
}

// An address as text, in Wireshark's format.
using AddressText = std::array<char, 64>;
void write_address(const LoggedField& e, AddressText& out) {
  out[0] = 0;
  address a;
  clear_address(&a);
  const auto* const bytes = reinterpret_cast<const guint8*>(e.text);
  if (e.text_length == 2) {
    g_snprintf(out.data(), static_cast<gulong>(out.size()), "LID %d", bytes[0] << 8 | bytes[1]);
    return;
  }
  if (e.text_length == 4) set_address(&a, AT_IPv4, 4, e.text);
  if (e.text_length == 16) set_address(&a, AT_IPv6, 16, e.text);
  if (a.type != AT_NONE) address_to_str_buf(&a, out.data(), static_cast<int>(out.size()));
}

proto_item* add_bytes(const FieldSpec& field, const LoggedField& e, tvbuff_t* tvb, int at,
                      int length, proto_tree* tree) {
  const int id = hf(field.id);
  if (field.type == FieldType::kAddress) {
    AddressText text;
    write_address(e, text);
    return proto_tree_add_string(tree, id, tvb, at, length, text.data());
  }
  const auto* bytes = reinterpret_cast<const guint8*>(e.text);
  if (field.type == FieldType::kIpv6) {
    if (e.text_length != 16) return nullptr;
    return proto_tree_add_ipv6(tree, id, tvb, at, length,
                               reinterpret_cast<const ws_in6_addr*>(bytes));
  }
  // Without a range, Wireshark would read the bytes from the packet.
  return proto_tree_add_bytes_with_length(tree, id, tvb, at, length, bytes,
                                          static_cast<gint>(e.text_length));
}

// The current position in the lists of a header.
struct Place {
  const std::vector<model::ChunkOperation>* operations;
  std::size_t budget;  // limit of comparisons, since a hostile header has thousands of segments
  model::ChunkList list;
  std::int64_t chunk[3];
  std::int64_t segment;
};

void link_segment(Place& place, tvbuff_t* tvb, proto_tree* tree) {
  const std::vector<model::ChunkOperation>& all = *place.operations;
  const std::int64_t chunk = place.chunk[static_cast<std::size_t>(place.list)];
  if (all.size() > place.budget) return;
  place.budget -= all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const model::ChunkOperation& o = all[i];
    if (o.list != place.list || o.chunk != chunk || o.segment != place.segment) continue;
    render_frame(FieldId::kPacketOperation, o.first_frame, tvb, tree);
    render_frame(FieldId::kPacketOperationEnd, o.last_frame, tvb, tree);
  }
}

void entered(Place& place, FieldId id, tvbuff_t* tvb, proto_tree* tree) {
  const auto chunk = [&place](model::ChunkList list) {
    place.list = list;
    ++place.chunk[static_cast<std::size_t>(list)];
    place.segment = -1;
  };
  switch (id) {
    case FieldId::kReadChunk:
      return chunk(model::ChunkList::kRead);
    case FieldId::kWriteChunk:
      return chunk(model::ChunkList::kWrite);
    case FieldId::kReplyChunk:
      return chunk(model::ChunkList::kReply);
    case FieldId::kSegment:
      ++place.segment;
      return link_segment(place, tvb, tree);
    default:
      return;
  }
}

}  // namespace

void render_frame(FieldId id, std::uint64_t frame, tvbuff_t* tvb, proto_tree* tree) {
  if (frame == 0) return;
  proto_item_set_generated(
      proto_tree_add_uint(tree, hf(id), tvb, 0, 0, static_cast<guint32>(frame)));
}

void render(const annotations::FieldLog& field_log, tvbuff_t* tvb, int base, proto_tree* tree,
            const std::vector<model::ChunkOperation>* operations) {
  constexpr std::size_t kDepth = 32;
  std::array<proto_tree*, kDepth> open;
  std::size_t depth = 0;
  open[0] = tree;
  Place place{operations, 1'000'000, model::ChunkList::kRead, {-1, -1, -1}, -1};
  const int captured = static_cast<int>(tvb_captured_length(tvb));

  annotations::FieldLogReader reader(field_log);
  LoggedField e;
  while (reader.next(e)) {
    if (e.kind == LoggedField::Kind::kClose) {
      if (depth > 0) --depth;
      continue;
    }
    const FieldSpec& field = decode::spec(e.id);
    proto_tree* const at_tree = open[std::min(depth, kDepth - 1)];
    // Only captured bytes can be highlighted.
    int at = 0;
    int length = 0;
    if (e.length != 0 && e.offset <= static_cast<std::size_t>(captured) &&
        static_cast<std::size_t>(base) + e.offset + e.length <=
            static_cast<std::size_t>(captured)) {
      at = base + static_cast<int>(e.offset);
      length = static_cast<int>(e.length);
    }
    proto_item* item = nullptr;
    switch (e.kind) {
      case LoggedField::Kind::kOpen:
      case LoggedField::Kind::kForeignOpen: {
        proto_tree* below = at_tree;
        // The header is the protocol's own item.
        if (e.id != FieldId::kTransport) {
          if (e.kind == LoggedField::Kind::kOpen) {
            item = proto_tree_add_none_format(at_tree, hf(e.id), tvb, at, length, "%s%s%s",
                                              field.label, e.text_length != 0 ? ": " : "", e.text);
            below = proto_item_add_subtree(item, registered.tree);
          } else {
            below = proto_tree_add_subtree_format(at_tree, tvb, at, length, registered.tree, &item,
                                                  "%s%s%s", field.label,
                                                  e.text_length != 0 ? ": " : "", e.text);
          }
          mark(item, length);
        }
        ++depth;
        if (depth < kDepth) open[depth] = below;
        if (operations != nullptr) entered(place, e.id, tvb, below);
        break;
      }
      case LoggedField::Kind::kNumber:
        mark(add_number(field, e, tvb, at, length, at_tree), length);
        break;
      case LoggedField::Kind::kBytes:
        mark(add_bytes(field, e, tvb, at, length, at_tree), length);
        break;
      case LoggedField::Kind::kText:
      case LoggedField::Kind::kError:
        mark(proto_tree_add_string(at_tree, hf(e.id), tvb, at, length, e.text), length);
        break;
      case LoggedField::Kind::kForeign:
        proto_tree_add_subtree_format(at_tree, tvb, at, length, registered.tree, &item, "%s: %s",
                                      field.label, e.text);
        mark(item, length);
        break;
      case LoggedField::Kind::kClose:
        break;
    }
  }
}

void render_operation(const annotations::OperationNote& note, std::uint64_t call_frame,
                      tvbuff_t* tvb, proto_tree* tree) {
  const model::ChunkOperation& o = note.operation;
  const char* const kind = o.kind == roce::OpKind::kRead ? "RDMA READ" : "RDMA WRITE";
  proto_item* item = proto_tree_add_none_format(
      tree, hf(FieldId::kOp), tvb, 0, 0, "%s of %s chunk %u segment %u, %u bytes", kind,
      model::chunk_list_name(o.list), o.chunk, o.segment, o.length);
  proto_item_set_generated(item);
  proto_tree* below = proto_item_add_subtree(item, registered.tree);
  const auto generated = [](proto_item* i) { proto_item_set_generated(i); };
  generated(proto_tree_add_string(below, hf(FieldId::kOpKind), tvb, 0, 0, kind));
  generated(proto_tree_add_uint(below, hf(FieldId::kOpHandle), tvb, 0, 0, o.handle));
  generated(proto_tree_add_uint64(below, hf(FieldId::kOpOffset), tvb, 0, 0, o.offset));
  generated(proto_tree_add_uint(below, hf(FieldId::kOpLength), tvb, 0, 0, o.length));
  render_frame(FieldId::kOpFirstFrame, o.first_frame, tvb, below);
  if (note.ended) {
    generated(proto_tree_add_uint64(below, hf(FieldId::kOpBytes), tvb, 0, 0, o.bytes));
    render_frame(FieldId::kOpLastFrame, o.last_frame, tvb, below);
    const nstime_t time = time_of(static_cast<std::uint64_t>(o.last_ns - o.first_ns));
    generated(proto_tree_add_time(below, hf(FieldId::kOpTime), tvb, 0, 0, &time));
  }
  render_frame(FieldId::kPacketCall, call_frame, tvb, below);
}

}  // namespace rpcrdma::wireshark
