#include <algorithm>

#include <rpcrdma/protocol/stream_reader.h>

namespace rpcrdma::protocol {

using wire::Bytes;
using wire::xdr_padded;

StreamReader::StreamReader(Bytes stream, std::span<const Placed> items, const Padding& padding)
    : stream_(stream), padding_(padding) {
  const auto any = std::ranges::find(items, kAnyPosition, &Placed::position);
  items_ = items.first(static_cast<std::size_t>(any - items.begin()));
  results_ = items.subspan(items_.size());
  ok_ = items_fit();
}

// Positions count the items, results in Write chunks, and their roundup; a position minus those
// before it is an offset in the stream.
bool StreamReader::items_fit() const {
  std::uint64_t end = 0;    // of the preceding item
  std::uint64_t items = 0;  // bytes of all preceding items
  std::uint64_t written = 0;
  for (const Placed& result : results_) written += xdr_padded(result.bytes.size());
  for (const Placed& item : items_) {
    if (item.position % 4 != 0 || item.position < end) return false;
    if (item.position - items > stream_.size() + written) return false;
    items += xdr_padded(item.bytes.size());
    end = item.position + xdr_padded(item.bytes.size());
  }
  return std::ranges::all_of(results_, [](const Placed& r) { return r.position == kAnyPosition; });
}

bool StreamReader::need(std::uint64_t bytes) {
  if (!ok_ || bytes > stream_.size() - offset_) return ok_ = false;
  // Scalars, counts and inline content do not reach into an item.
  if (item_ < items_.size() && bytes > items_[item_].position - position_) return ok_ = false;
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

// Padding is no part of the message, and positions do not count it.
void StreamReader::skip_padding(std::uint32_t length) {
  const std::uint32_t bytes = padding_.before(offset_, length);
  if (bytes > stream_.size() - offset_) {
    ok_ = false;
  } else {
    offset_ += bytes;
  }
}

Bytes StreamReader::opaque(std::uint32_t max) {
  const std::uint32_t length = u32();
  if (length > max) ok_ = false;
  if (!ok_) return {};
  if (at_item()) return take(items_[item_++].bytes, length);
  skip_padding(length);
  return content(length);
}

Bytes StreamReader::opaque_fixed(std::uint32_t length) {
  return ok_ ? content(length) : Bytes{};
}

Bytes StreamReader::opaque_result(std::uint32_t max) {
  const std::uint32_t length = u32();
  if (length > max) ok_ = false;
  if (!ok_) return {};
  if (at_item()) {
    // The Write chunk that was offered for this result is not used.
    if (result_ < results_.size()) ++result_;
    return take(items_[item_++].bytes, length);
  }
  if (result_ < results_.size()) {
    const Bytes written = results_[result_++].bytes;
    if (!written.empty()) return take(written, length);
  }
  skip_padding(length);
  return content(length);
}

bool StreamReader::at_end() const {
  return ok_ && offset_ == stream_.size() && item_ == items_.size() &&
         std::ranges::all_of(results_.subspan(result_),
                             [](const Placed& r) { return r.bytes.empty(); });
}

bool StreamReader::at_item() const {
  return item_ < items_.size() && items_[item_].position == position_;
}

Bytes StreamReader::content(std::uint32_t length) {
  if (at_item()) return take(items_[item_++].bytes, length);
  if (!need(xdr_padded(length))) return {};
  const Bytes v = stream_.subspan(offset_, length);
  offset_ += static_cast<std::size_t>(xdr_padded(length));
  position_ += xdr_padded(length);
  return v;
}

Bytes StreamReader::take(Bytes item, std::uint32_t length) {
  if (item.size() != length && item.size() != xdr_padded(length)) {
    ok_ = false;
    return {};
  }
  position_ += xdr_padded(length);
  return item.first(length);
}

}  // namespace rpcrdma::protocol
