#include <rpcrdma/protocol/stream_reader.h>

namespace rpcrdma::protocol {

using wire::Bytes;
using wire::xdr_padded;

StreamReader::StreamReader(Bytes stream, std::span<const Placed> items)
    : stream_(stream), items_(items), ok_(items_fit()) {}

// Positions count the items and their roundup; what is left of a position without the items before
// it is a place in the stream.
bool StreamReader::items_fit() const {
  const bool placed = !items_.empty() && items_.front().position != kAnyPosition;
  std::uint64_t end = 0;    // of the item before
  std::uint64_t items = 0;  // bytes of all before
  for (const Placed& item : items_) {
    if ((item.position != kAnyPosition) != placed) return false;
    if (!placed) continue;
    if (item.position % 4 != 0 || item.position < end) return false;
    if (item.position - items > stream_.size()) return false;
    items += xdr_padded(item.bytes.size());
    end = item.position + xdr_padded(item.bytes.size());
  }
  return true;
}

bool StreamReader::need(std::uint64_t bytes) {
  if (!ok_ || bytes > stream_.size() - offset_) return ok_ = false;
  // Scalars, counts and inline content do not reach into an item.
  if (item_ < items_.size()) {
    const std::uint64_t next = items_[item_].position;
    if (next != kAnyPosition && bytes > next - position_) return ok_ = false;
  }
  return true;
}

std::uint32_t StreamReader::u32() {
  if (!need(4)) return 0;
  const std::uint32_t v = wire::load_be32(stream_.data() + offset_);
  offset_ += 4;
  position_ += 4;
  return v;
}

std::uint64_t StreamReader::u64() {
  if (!need(8)) return 0;
  const std::uint64_t v = wire::load_be64(stream_.data() + offset_);
  offset_ += 8;
  position_ += 8;
  return v;
}

Bytes StreamReader::opaque(std::uint32_t max) {
  const std::uint32_t length = u32();
  if (length > max) ok_ = false;
  return ok_ ? content(length) : Bytes{};
}

Bytes StreamReader::opaque_fixed(std::uint32_t length) {
  return ok_ ? content(length) : Bytes{};
}

Bytes StreamReader::opaque_result(std::uint32_t max) {
  const std::uint32_t length = u32();
  if (length > max) ok_ = false;
  if (!ok_) return {};
  if (item_ == items_.size() || items_[item_].position != kAnyPosition) return content(length);
  if (!items_[item_].bytes.empty()) return take_item(length);
  ++item_;  // a Write chunk that was not used
  return content(length);
}

bool StreamReader::at_end() const {
  if (!ok_ || offset_ != stream_.size()) return false;
  for (const Placed& item : items_.subspan(item_)) {
    if (item.position != kAnyPosition || !item.bytes.empty()) return false;
  }
  return true;
}

Bytes StreamReader::content(std::uint32_t length) {
  if (item_ < items_.size() && items_[item_].position == position_) return take_item(length);
  if (!need(xdr_padded(length))) return {};
  const Bytes v = stream_.subspan(offset_, length);
  offset_ += static_cast<std::size_t>(xdr_padded(length));
  position_ += xdr_padded(length);
  return v;
}

Bytes StreamReader::take_item(std::uint32_t length) {
  const Bytes bytes = items_[item_].bytes;
  if (bytes.size() != length && bytes.size() != xdr_padded(length)) {
    ok_ = false;
    return {};
  }
  ++item_;
  position_ += xdr_padded(length);
  return bytes.first(length);
}

}  // namespace rpcrdma::protocol
