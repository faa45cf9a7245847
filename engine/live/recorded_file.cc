// Writes blocks of events to recordings. At the start of each file it adds the endpoint and the
// state snapshot, at its end the losses of each ring.
#include "recorded_file.h"

#include "make_event.h"

#include <algorithm>

#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::trace {
namespace {

using base::Expected;

// Offsets in an Enhanced Packet Block.
constexpr std::size_t kTotalAt = 4, kTimeAt = 12, kCapturedAt = 20, kDataAt = 28;

std::uint32_t u32(std::span<const std::uint8_t> block, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, block.data() + at, sizeof value);
  return value;
}

base::Frame frame_of(std::int64_t wall, std::span<const std::uint8_t> data) {
  base::Frame frame;
  frame.time_ns = wall;
  frame.original = static_cast<std::uint32_t>(data.size());
  frame.link = base::LinkType::kUpperPdu;
  frame.data = data;
  return frame;
}

// Wrap around: the times are untrusted.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

void put_event(std::vector<std::uint8_t>& data, std::span<const std::uint8_t> event) {
  data.assign(kUpperPduTags.begin(), kUpperPduTags.end());
  data.insert(data.end(), event.begin(), event.end());
}

bool is(const EventHeader& header, EventType type) {
  return header.type == static_cast<std::uint16_t>(type);
}

}  // namespace

Expected<std::unique_ptr<RecordedFile>> RecordedFile::open(const std::string& path,
                                                           const base::RingOptions& ring,
                                                           const std::string& interface,
                                                           std::int64_t wall_now) {
  std::unique_ptr<RecordedFile> file(new RecordedFile);
  RecordedFile* const it = file.get();
  base::RecordOptions options;
  options.path = path;
  options.ring = ring;
  options.interface.name = interface;
  options.interface.link = base::LinkType::kUpperPdu;
  options.dropped = [it] { return it->lost(); };
  options.at_end = [it](const auto& put) { it->put_losses(put); };
  options.at_begin = [it](const auto& put) { it->put_head(put); };
  auto recorder = base::open_recorder(std::move(options), wall_now);
  if (!recorder) return tl::unexpected(recorder.error());
  file->recorder_ = std::move(*recorder);
  return file;
}

Expected<void> RecordedFile::write(std::span<const std::uint8_t> blocks) {
  while (!blocks.empty()) {
    const auto wall = static_cast<std::int64_t>(std::uint64_t{u32(blocks, kTimeAt)} << 32U |
                                                u32(blocks, kTimeAt + 4));
    const auto data = blocks.subspan(kDataAt, u32(blocks, kCapturedAt));
    if (auto written = write_event(wall, data); !written) return written;
    blocks = blocks.subspan(u32(blocks, kTotalAt));
  }
  return flush();
}

Expected<void> RecordedFile::write_event(std::int64_t wall, std::span<const std::uint8_t> data) {
  const auto event = data.subspan(kUpperPduTags.size());
  EventHeader header;
  std::memcpy(&header, event.data(), sizeof header);
  time_ = header.time;
  if (is(header, EventType::kLoss)) {
    return write_loss(wall, header, *read_event<Loss>(*view_event(event)));
  }
  const bool is_endpoint = is(header, EventType::kEndpoint);
  auto written = recorder_->write(frame_of(wall, data));
  latest_wall_ = std::max(latest_wall_, wall);
  if (!is_endpoint) unwritten_.push_back(given_);
  ++given_;
  count_written();
  if (!written) return written;
  if (is_endpoint) {
    endpoint_.assign(event.begin(), event.end());
    wall_offset_ = difference(wall, header.time);
    return {};
  }
  snapshot_.take(header, event);
  ++sums(header.ring).in_file;
  return {};
}

// If the recorder starts a new file with this event, its losses are counted at the end of the
// previous file, and put_head() builds the event for the new file before the recorder copies its
// bytes.
Expected<void> RecordedFile::write_loss(std::int64_t wall, const EventHeader& header,
                                        const Loss& loss) {
  sums(header.ring).lost = loss.lost;
  last_loss_ = header;
  make_loss();
  auto written = recorder_->write(frame_of(wall, loss_data_));
  ++given_;
  latest_wall_ = std::max(latest_wall_, wall);
  last_loss_.reset();
  return written;
}

void RecordedFile::make_loss() {
  put_event(loss_data_, loss(last_loss_->ring, last_loss_->time));
}

Expected<void> RecordedFile::flush() {
  auto flushed = recorder_->flush();
  count_written();
  return flushed;
}

Expected<void> RecordedFile::finish(std::int64_t wall_now) {
  auto finished = recorder_->finish(wall_now);
  count_written();
  return finished;
}

void RecordedFile::count_written() {
  for (; !unwritten_.empty() && unwritten_.front() < recorder_->frames(); unwritten_.pop_front()) {
    ++events_;
  }
}

std::uint64_t RecordedFile::lost() const {
  std::uint64_t lost = 0;
  for (const Sums& s : rings_) lost += s.lost;
  return lost;
}

RecordedFile::Sums& RecordedFile::sums(std::uint32_t ring) {
  if (ring >= rings_.size()) rings_.resize(ring + 1);
  return rings_[ring];
}

std::vector<std::uint8_t> RecordedFile::loss(std::uint32_t ring, std::int64_t time) {
  const Sums& s = sums(ring);
  const std::uint64_t lost = s.lost - s.lost_before;
  return make_event(ring, time, Loss{s.in_file + lost, lost});
}

void RecordedFile::put(const base::RecordOptions::Put& put, std::int64_t wall,
                       std::span<const std::uint8_t> event) {
  put_event(data_, event);
  put(frame_of(wall, data_));
  ++given_;
}

void RecordedFile::put_losses(const base::RecordOptions::Put& put_frame) {
  for (std::uint32_t ring = 0; ring < rings_.size(); ++ring) {
    const Sums& s = rings_[ring];
    if (s.in_file + s.lost != s.lost_before) put(put_frame, latest_wall_, loss(ring, time_));
  }
}

void RecordedFile::put_head(const base::RecordOptions::Put& put_frame) {
  const auto view = *view_event(endpoint_);
  Endpoint endpoint = *read_event<Endpoint>(view);
  endpoint.wall = sum(time_, wall_offset_);
  latest_wall_ = std::max(latest_wall_, endpoint.wall);
  put(put_frame, latest_wall_, make_event(0, time_, endpoint, view.payload));
  for (Sums& s : rings_) s = {.in_file = 0, .lost = s.lost, .lost_before = s.lost};
  snapshot_.emit([&](const EventHeader& header, std::span<const std::uint8_t> event) {
    put(put_frame, latest_wall_, event);
    ++sums(header.ring).in_file;
  });
  if (last_loss_) make_loss();
}

}  // namespace rpcrdma::trace
