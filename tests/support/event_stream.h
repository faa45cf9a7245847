// Reads streams and recordings, and checks the invariants of Loss events.
#pragma once

#include "../../engine/live/clock.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/trace/read.h>
#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::trace {

// Wall-clock time at which the tests' recordings begin.
inline constexpr std::int64_t kStart = 1'800'000'000 * kSecond;

struct Emitted {
  EventHeader header;
  std::vector<std::uint8_t> bytes;
  std::int64_t wall = 0;  // of its block

  [[nodiscard]] EventType type() const { return static_cast<EventType>(header.type); }
  [[nodiscard]] EventView view() const { return view_event(bytes).value(); }
  template <typename Event>
  [[nodiscard]] Event as() const {
    return read_event<Event>(view()).value();
  }
  [[nodiscard]] std::string payload() const {
    const auto payload = view().payload;
    return {payload.begin(), payload.end()};
  }
};

inline Emitted announced(std::span<const std::uint8_t> event) {
  Emitted emitted;
  emitted.bytes.assign(event.begin(), event.end());
  emitted.header = emitted.view().header;
  return emitted;
}

// Per ring, since the latest Endpoint event.
class Audit {
 public:
  struct Sums {
    std::uint64_t received = 0, emitted = 0, lost = 0;  // `emitted` and `lost` as reported last
  };

  void take(const Emitted& emitted) {
    if (emitted.type() == EventType::kEndpoint) {
      rings_.clear();
      return;
    }
    Sums& sums = rings_[emitted.header.ring];
    if (emitted.type() != EventType::kLoss) {
      ++sums.received;
      return;
    }
    const auto loss = emitted.as<Loss>();
    EXPECT_EQ(loss.emitted, sums.received + loss.lost) << "ring " << emitted.header.ring;
    EXPECT_GE(loss.lost, sums.lost);
    sums.emitted = loss.emitted;
    sums.lost = loss.lost;
  }
  [[nodiscard]] const Sums& ring(std::uint32_t number) { return rings_[number]; }
  // Returns whether no event has arrived since the latest sums.
  [[nodiscard]] bool is_complete() const {
    for (const auto& [number, sums] : rings_) {
      if (sums.emitted != sums.received + sums.lost) return false;
    }
    return true;
  }

 private:
  std::map<std::uint32_t, Sums> rings_;
};

class EventStream {
 public:
  explicit EventStream(base::Expected<std::unique_ptr<capture::Source>> source) {
    EXPECT_TRUE(source) << source.error().message;
    if (source) source_ = std::move(*source);
  }
  explicit EventStream(base::FileDescriptor fd)
      : EventStream(capture::open_descriptor(std::move(fd), "stream")) {}
  explicit EventStream(const std::string& file) : EventStream(capture::open_file(file)) {}

  // Blocks until the next event; returns nothing at the end.
  std::optional<Emitted> next() {
    base::Frame frame;
    if (!source_ || !source_->next(frame).value_or(false)) return std::nullopt;
    EXPECT_EQ(frame.link, base::LinkType::kUpperPdu);
    EXPECT_EQ(frame.original, frame.data.size());
    const auto event = event_in_pdu(frame.data);
    EXPECT_TRUE(event && view_event(*event));
    Emitted emitted = announced(*event);
    emitted.wall = frame.time_ns;
    audit.take(emitted);
    return emitted;
  }
  // The next event that is not a Loss; nothing at the end.
  std::optional<Emitted> next_event() {
    auto emitted = next();
    while (emitted && emitted->type() == EventType::kLoss) emitted = next();
    return emitted;
  }
  std::vector<Emitted> rest() {
    std::vector<Emitted> all;
    while (auto emitted = next()) all.push_back(std::move(*emitted));
    return all;
  }
  // Reads until a Loss event reports that `emitted` events of the ring were emitted.
  void read_until(std::uint32_t ring, std::uint64_t emitted) {
    while (audit.ring(ring).emitted < emitted && next()) {
    }
  }
  [[nodiscard]] const capture::SourceStats& stats() const { return source_->stats(); }

  Audit audit;

 private:
  std::unique_ptr<capture::Source> source_;
};

// A folder of the test's own, also set as $XDG_RUNTIME_DIR.
class OwnRuntime : public ::testing::Test {
 protected:
  OwnRuntime() {
    std::string pattern = ::testing::TempDir() + "trace_live_test_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    ::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  }
  ~OwnRuntime() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

}  // namespace rpcrdma::trace
