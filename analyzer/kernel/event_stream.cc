#include "event_stream.h"

#include <cstring>

#include <rpcrdma/base/frame.h>
#include <rpcrdma/base/pcapng/block_file.h>
#include <rpcrdma/base/write_all.h>
#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::trace_dat {
namespace {

std::span<const std::uint8_t> text_bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

void EventStream::begin(std::int64_t time) {
  begun_ = true;
  first_ = last_ = time;
  blocks_.reserve(2 * base::kFlushBytes);
  blocks_.section(base::PcapngBlocks::End::kStatistics);
  base::Interface interface;
  interface.name = origin_.name;
  interface.link = base::LinkType::kUpperPdu;
  blocks_.interface(interface);
  trace::Endpoint e;
  e.name_bytes = static_cast<std::uint16_t>(origin_.name.size());
  e.process = origin_.process;
  e.wall = e.since = time + origin_.wall_offset;
  e.source = trace::EventSource::kKernelTracepoints;
  trace::EventHeader header;
  header.type = static_cast<std::uint16_t>(trace::Endpoint::kType);
  header.fixed = sizeof e;
  header.payload = static_cast<std::uint32_t>(origin_.name.size() + origin_.role.size());
  header.time = time;
  put(header, {reinterpret_cast<const std::uint8_t*>(&e), sizeof e}, text_bytes(origin_.name),
      text_bytes(origin_.role));
}

void EventStream::put(trace::EventHeader header, std::span<const std::uint8_t> fixed,
                      std::span<const std::uint8_t> payload,
                      std::span<const std::uint8_t> extra_payload) {
  bytes_.resize(trace::event_bytes(header));
  std::uint8_t* p = bytes_.data();
  const auto append = [&p](const void* from, std::size_t size) {
    if (size != 0) std::memcpy(p, from, size);
    p += size;
  };
  append(&header, sizeof header);
  append(fixed.data(), fixed.size());
  append(payload.data(), payload.size());
  append(extra_payload.data(), extra_payload.size());
  std::memset(p, 0, static_cast<std::size_t>(bytes_.data() + bytes_.size() - p));
  blocks_.packet(header.time + origin_.wall_offset, trace::kUpperPduTags, bytes_);
  if (blocks_.bytes().size() >= base::kFlushBytes) write();
}

void EventStream::event(const trace::EventHeader& header, std::span<const std::uint8_t> fixed,
                        std::span<const std::uint8_t> payload,
                        std::span<const std::uint8_t> extra_payload) {
  if (broken()) return;
  if (!begun_) begin(header.time);
  last_ = header.time;
  if (loss_changed_) put_loss();
  trace::EventHeader numbered = header;
  numbered.ring = kRing;
  ++received_;
  put(numbered, fixed, payload, extra_payload);
}

void EventStream::lost(std::uint64_t count) {
  lost_ += count;
  loss_changed_ = true;
}

void EventStream::put_loss() {
  loss_changed_ = false;
  trace::Loss e;
  e.emitted = received_ + lost_;
  e.lost = lost_;
  trace::EventHeader header;
  header.type = static_cast<std::uint16_t>(trace::Loss::kType);
  header.fixed = sizeof e;
  header.ring = kRing;
  header.time = last_;
  put(header, {reinterpret_cast<const std::uint8_t*>(&e), sizeof e}, {}, {});
}

void EventStream::flush() {
  if (begun_) write();
}

void EventStream::finish() {
  if (!begun_) begin(0);
  put_loss();
  base::PcapngBlocks::Statistics statistics;
  statistics.first_ns = first_ + origin_.wall_offset;
  statistics.last_ns = last_ + origin_.wall_offset;
  statistics.received = received_;
  statistics.dropped = lost_;
  blocks_.statistics(statistics);
  write();
}

void EventStream::write() {
  if (error_ == 0) error_ = base::write_all(fd_, blocks_.bytes()).error;
  blocks_.clear();
}

}  // namespace rpcrdma::trace_dat
