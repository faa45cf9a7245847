#include "fpdu_stream.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <rpcrdma/wire/crc32c.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::iwarp {

namespace {

constexpr std::size_t kLengthBytes = 2;
constexpr std::size_t kCrcBytes = 4;
constexpr std::size_t kLongestHeader = kLengthBytes + kUntaggedHeader;

std::uint32_t load_le32(const std::uint8_t* p) {
  return std::uint32_t{p[0]} | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16 |
         std::uint32_t{p[3]} << 24;
}

// From its length to its CRC, without markers.
constexpr std::size_t plain_length(std::size_t ulpdu) {
  return (kLengthBytes + ulpdu + 3) / 4 * 4 + kCrcBytes;
}

}  // namespace

void FpduStream::start(Known markers, Known crc) {
  *this = FpduStream{};
  in_step_ = trusted_ = true;
  markers_ = markers;
  crc_ = crc;
  phase_ = 0;  // the first marker precedes the first FPDU
  alignment_known_ = true;
}

void FpduStream::search(Known markers, Known crc) {
  *this = FpduStream{};
  markers_ = markers;
  crc_ = crc;
}

const roce::PacketMeta& FpduStream::meta_at(std::size_t offset) const {
  const auto after = std::upper_bound(marks_.begin(), marks_.end(), offset,
                                      [](std::size_t o, const Mark& m) { return o < m.offset; });
  return after == marks_.begin() ? marks_.front().meta : std::prev(after)->meta;
}

void FpduStream::drop_used() {
  // An FPDU that was passed on may lie in the buffer until here.
  if (at_ == 0) return;
  if (at_ < buffer_.size() && at_ < kMaxSearched / 2 && 2 * at_ < buffer_.size()) return;
  position_ += at_;
  if (at_ == buffer_.size()) {
    buffer_.clear();
    marks_.clear();
  } else {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_));
    const auto after = std::upper_bound(marks_.begin(), marks_.end(), at_,
                                        [](std::size_t o, const Mark& m) { return o < m.offset; });
    marks_.erase(marks_.begin(), std::prev(after));
    for (Mark& m : marks_) m.offset -= std::min(m.offset, at_);
  }
  searched_to_ -= std::min(searched_to_, at_);
  at_ = 0;
}

void FpduStream::on_bytes(Bytes bytes, const roce::PacketMeta& meta) {
  drop_used();
  if (cut_) {
    const auto rest = static_cast<std::size_t>(std::min<std::uint64_t>(cut_rest_, bytes.size()));
    cut_rest_ -= rest;
    cut_fpdu_.last = meta;
    bytes = bytes.subspan(rest);
    position_ += rest;
  }
  if (bytes.empty()) return;
  if (!in_step_) searched_ += bytes.size();
  marks_.push_back({buffer_.size(), meta});
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void FpduStream::on_missing(std::uint64_t count, const roce::PacketMeta& meta) {
  drop_used();
  if (!cut_) {
    Layout l;
    DdpSegment ddp;
    // Without its DDP header, nothing is known of the FPDU.
    if (!in_step_ || layout(at_, marker_at(at_), l, ddp) != Found::kYes) return lose_step(count);
    cut(l, ddp);
  }
  cut_fpdu_.last = meta;
  const std::uint64_t of_it = std::min(count, cut_rest_);
  cut_rest_ -= of_it;
  position_ += of_it;
  if (of_it < count) lose_step(count == UINT64_MAX ? count : count - of_it);
}

// Keeps what was captured of the current FPDU.
void FpduStream::cut(const Layout& l, const DdpSegment& ddp) {
  const std::size_t have = std::min(l.raw, buffer_.size() - at_);
  plain_.resize(kLengthBytes + l.length);
  plain_.resize(copy(at_, l.marker, plain_.size(), plain_.data()));
  cut_fpdu_ = {};
  cut_fpdu_.ulpdu = Bytes(plain_).subspan(kLengthBytes);
  cut_fpdu_.wire_length = l.length;
  cut_fpdu_.ddp = ddp;
  cut_fpdu_.after_gap = std::exchange(gap_, false);
  cut_fpdu_.first = meta_at(at_);
  cut_ = true;
  cut_rest_ = l.raw - have;
  position_ += at_ + have;
  buffer_.clear();
  marks_.clear();
  at_ = searched_to_ = 0;
}

// The place of the next FPDU is not known.
void FpduStream::lose_step(std::uint64_t missing) {
  passed_over_ += buffer_.size() - at_;
  position_ += buffer_.size() + missing;
  if (missing == UINT64_MAX) {
    if (markers_ == Known::kOn) markers_ = Known::kUnknown;
    alignment_known_ = false;
  }
  buffer_.clear();
  marks_.clear();
  at_ = searched_to_ = 0;
  in_step_ = false;
  gap_ = true;
  unmarked_ = 0;
}

// The offset of the first marker behind `at`; kMarkerInterval: there are none.
std::uint32_t FpduStream::marker_at(std::size_t at) const {
  if (markers_ != Known::kOn) return kMarkerInterval;
  return (phase_ - static_cast<std::uint32_t>(position_ + at)) % kMarkerInterval;
}

// Copies bytes of an FPDU without its markers. Returns how many there are.
std::size_t FpduStream::copy(std::size_t at, std::uint32_t marker, std::size_t count,
                             std::uint8_t* to) const {
  std::size_t done = 0;
  std::size_t until = marker == kMarkerInterval ? SIZE_MAX : marker;  // plain bytes to a marker
  while (done < count && at < buffer_.size()) {
    if (until == 0) {
      at += kMarker;
      until = kMarkerInterval - kMarker;
      continue;
    }
    const std::size_t n = std::min({count - done, until, buffer_.size() - at});
    std::memcpy(to + done, buffer_.data() + at, n);
    done += n;
    at += n;
    if (until != SIZE_MAX) until -= n;
  }
  return done;
}

FpduStream::Found FpduStream::layout(std::size_t at, std::uint32_t marker, Layout& out,
                                     DdpSegment& ddp) const {
  std::array<std::uint8_t, kLongestHeader> head{};
  const std::size_t have = copy(at, marker, head.size(), head.data());
  if (have < kLengthBytes) return Found::kMore;
  out.length = wire::load_be16(head.data());
  if (out.length < kTaggedHeader) return Found::kNo;
  const Bytes ulpdu = Bytes(head).first(have).subspan(kLengthBytes);
  if (!decode_ddp(ulpdu, out.length, ddp)) {
    // Is it the header that is wrong, or is it not whole?
    const bool tagged = ulpdu.empty() || (ulpdu[0] & 0x80) != 0;
    const bool whole = ulpdu.size() >= (tagged ? kTaggedHeader : kUntaggedHeader);
    return whole ? Found::kNo : Found::kMore;
  }
  const std::size_t plain = plain_length(out.length);
  std::size_t markers = 0;
  while (marker != kMarkerInterval &&
         marker + kMarkerInterval * markers < plain + kMarker * markers) {
    ++markers;
  }
  out.raw = plain + kMarker * markers;
  out.marker = marker;
  return Found::kYes;
}

// The CRC covers the markers, too. They never divide it: FPDUs and markers are aligned alike.
bool FpduStream::crc_good(std::size_t at, const Layout& l) const {
  const std::uint8_t* const begin = buffer_.data() + at;
  return wire::crc32c({begin, l.raw - kCrcBytes}) == load_le32(begin + l.raw - kCrcBytes);
}

// Finds markers by their content, in an FPDU whose CRC is valid with them.
bool FpduStream::learn_markers(std::size_t at, Layout& l, DdpSegment& ddp) {
  const std::size_t last = std::min<std::size_t>(kMarkerInterval, buffer_.size() - at);
  for (std::size_t m = 0; m + kMarker <= last; m += 4) {
    if (wire::load_be32(buffer_.data() + at + m) != m) continue;
    Layout with;
    if (layout(at, static_cast<std::uint32_t>(m), with, ddp) != Found::kYes) continue;
    if (m >= with.raw || with.raw > buffer_.size() - at || !crc_good(at, with)) continue;
    markers_ = Known::kOn;
    phase_ = static_cast<std::uint32_t>(position_ + at + m) % kMarkerInterval;
    l = with;
    return true;
  }
  return false;
}

// Is there a row of FPDUs from here on?
FpduStream::Found FpduStream::chain(std::size_t at) const {
  const int needed = trusted_ ? 1 : kChain;
  for (int found = 0;;) {
    Layout l;
    DdpSegment ddp;
    const Found head = layout(at, marker_at(at), l, ddp);
    if (head == Found::kNo) return Found::kNo;
    if (found >= needed && (head == Found::kYes || at == buffer_.size())) return Found::kYes;
    if (head == Found::kMore || l.raw > buffer_.size() - at) {
      return finished_ ? Found::kNo : Found::kMore;
    }
    at += l.raw;
    ++found;
  }
}

// Whether a marker that is not known yet can make the FPDU longer than what is there.
bool FpduStream::may_grow(std::size_t at, const Layout& l) const {
  const std::size_t most = l.raw / kMarkerInterval + 1;
  return markers_ == Known::kUnknown && !finished_ && buffer_.size() - at < l.raw + kMarker * most;
}

FpduStream::Found FpduStream::check(std::size_t at, bool& by_crc) {
  Layout l;
  DdpSegment ddp;
  const Found head = layout(at, marker_at(at), l, ddp);
  // A marker may stand in front, or in the header.
  if (head == Found::kNo) {
    by_crc = markers_ == Known::kUnknown && buffer_.size() - at > kMarker && buffer_[at] == 0 &&
             buffer_[at + 1] == 0 && learn_markers(at, l, ddp);
    return by_crc ? Found::kYes : Found::kNo;
  }
  if (head == Found::kMore || l.raw > buffer_.size() - at) {
    return finished_ ? Found::kNo : Found::kMore;
  }
  by_crc = crc_ != Known::kOff &&
           (crc_good(at, l) || (markers_ == Known::kUnknown && learn_markers(at, l, ddp)));
  if (by_crc) return Found::kYes;
  if (may_grow(at, l)) return Found::kMore;
  return crc_ == Known::kOn ? Found::kNo : chain(at);
}

// Searches the next FPDU.
bool FpduStream::find() {
  std::size_t at = std::max(searched_to_, at_);
  for (; at + kTaggedHeader <= buffer_.size(); ++at) {
    const auto position = static_cast<std::uint32_t>(position_ + at);
    if (alignment_known_ && position % 4 != alignment_) continue;
    bool by_crc = false;
    const Found found = check(at, by_crc);
    if (found == Found::kNo) continue;
    if (found == Found::kMore) {
      if (buffer_.size() - at < kMaxSearched) break;
      continue;
    }
    gap_ |= at != at_;
    passed_over_ += at - at_;
    at_ = at;
    in_step_ = trusted_ = alignment_known_ = true;
    alignment_ = position % 4;
    if (by_crc) crc_ = Known::kOn;
    unmarked_ = 0;
    return true;
  }
  // What is before this place is no FPDU.
  searched_to_ = at;
  if (at > at_) {
    passed_over_ += at - at_;
    gap_ = true;
    at_ = at;
  }
  return false;
}

void FpduStream::judge_crc(Fpdu& f, const Layout& l) {
  if (crc_ == Known::kOff) return;
  const bool good = crc_good(at_, l);
  if (good) {
    f.crc = Crc::kGood;
    crc_ = Known::kOn;
    bad_in_a_row_ = 0;
    return;
  }
  if (crc_ == Known::kOn) {
    f.crc = Crc::kBad;
    return;
  }
  constexpr std::uint32_t kNone = 3;
  if (++bad_in_a_row_ >= kNone) crc_ = Known::kOff;
}

bool FpduStream::take(Fpdu& out) {
  Layout l;
  DdpSegment ddp;
  Found head = layout(at_, marker_at(at_), l, ddp);
  const bool whole = head == Found::kYes && l.raw <= buffer_.size() - at_;
  if (markers_ == Known::kUnknown && (head == Found::kNo || whole)) {
    const bool plain = whole && (crc_ == Known::kOff || crc_good(at_, l));
    if (!plain && learn_markers(at_, l, ddp)) {
      head = Found::kYes;
    } else if (!plain && whole && crc_ == Known::kOn && may_grow(at_, l)) {
      return false;
    }
  }
  if (head == Found::kNo) {
    // A marker or the rest of an FPDU may show what it is.
    if (markers_ == Known::kUnknown && buffer_.size() - at_ < 2 * kMarkerInterval && !finished_) {
      return false;
    }
    ++malformed_;
    in_step_ = false;
    searched_to_ = at_ + 1;
    return false;
  }
  if (head == Found::kMore || l.raw > buffer_.size() - at_) return false;
  out.ddp = ddp;
  out.wire_length = l.length;
  out.crc = Crc::kUnchecked;
  judge_crc(out, l);
  if (l.marker == kMarkerInterval) {
    out.ulpdu = Bytes(buffer_).subspan(at_ + kLengthBytes, l.length);
  } else {
    plain_.resize(kLengthBytes + l.length);
    (void)copy(at_, l.marker, plain_.size(), plain_.data());
    out.ulpdu = Bytes(plain_).subspan(kLengthBytes);
  }
  out.after_gap = std::exchange(gap_, false);
  out.first = meta_at(at_);
  out.last = meta_at(at_ + l.raw - 1);
  at_ += l.raw;
  if (markers_ == Known::kUnknown) {
    unmarked_ += l.raw;
    if (unmarked_ > kMarkerInterval) markers_ = Known::kOff;
  }
  return true;
}

bool FpduStream::next(Fpdu& out) {
  if (cut_) {
    if (cut_rest_ != 0 && !finished_) return false;
    cut_ = false;
    out = cut_fpdu_;
    return true;
  }
  if (!in_step_ && !find()) return false;
  while (!take(out)) {
    if (in_step_ || !find()) return false;
  }
  return true;
}

}  // namespace rpcrdma::iwarp
