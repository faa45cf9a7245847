// The bytes of a capture file as its readers see them: contiguous pieces at a cursor. Whether the
// bytes lie in memory or in the buffer of a file or stream matters only when a piece runs out, so
// the path per record is a comparison and no virtual call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rpcrdma::capture {

// The largest record or block that is accepted as valid; it also bounds the buffer of a stream.
inline constexpr std::size_t kMaxRecordBytes = std::size_t{64} << 20;

class Feed {
 public:
  Feed() = default;
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;
  virtual ~Feed() = default;

  // Returns `n` bytes at the cursor, or nullptr when the input ends or fails before them;
  // available() then counts all that is left. Pointers from earlier calls are invalid once the
  // cursor has moved.
  [[nodiscard]] const std::uint8_t* need(std::size_t n) {
    if (n <= available()) [[likely]] {
      return cursor_;
    }
    return !stopped_ && refill(n) ? cursor_ : nullptr;
  }

  // Moves over a piece that was returned, no further than need() has promised.
  void advance(std::size_t n) {
    cursor_ += n;
    given_ = cursor_;
  }
  // The same over bytes that nobody will read again.
  void skip(std::size_t n) { cursor_ += n; }

  // For a walk that has just passed a record of `record` bytes. A record's address is known only
  // after the record before it is read, so the walk would wait for memory at every header. Packets
  // come in runs of one size: on that assumption, this prefetches the headers (the record's and the
  // protocols') some records ahead. Measured on 1 KiB packets in the page cache: half the time.
  void prefetch(std::size_t record) const {
    constexpr std::size_t kRecords = 8;
    constexpr std::size_t kCacheLine = 64;
    const std::size_t ahead = (kRecords - 1) * record;
    if (available() <= ahead + kCacheLine) return;
    __builtin_prefetch(cursor_ + ahead);
    __builtin_prefetch(cursor_ + ahead + kCacheLine);
  }

  [[nodiscard]] std::size_t available() const { return static_cast<std::size_t>(end_ - cursor_); }

  // The cursor's offset in the (uncompressed) file.
  [[nodiscard]] std::uint64_t offset() const {
    return base_ + static_cast<std::uint64_t>(cursor_ - begin_);
  }

  // Bytes up to the cursor that took up buffer space; some skipped bytes did not.
  [[nodiscard]] std::uint64_t passed() const { return offset() - left_out_; }

  // Moves the cursor forward to `offset`; false if that is impossible.
  [[nodiscard]] virtual bool begin_at(std::uint64_t offset) {
    (void)offset;
    return false;
  }

  // Whether returned pieces stay readable until passed() has grown by kReadableBehind, and while
  // the cursor then moves over one more piece, however much is skipped before it.
  [[nodiscard]] virtual bool stays() const { return false; }

  // Ends the input at the cursor.
  void stop() {
    end_ = cursor_;
    stopped_ = true;
    close_input();
  }

  // Bytes consumed of the file as it is stored.
  [[nodiscard]] virtual std::uint64_t stored() const { return offset(); }

  // After need() returned nullptr: a read error, the damage that the layer below found, and whether
  // the input ended too early.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] const std::string& damage() const { return damage_; }
  [[nodiscard]] bool cut_short() const { return cut_short_; }

 protected:
  // Makes `n` bytes, more than available(), readable at the cursor. False: the input has fewer.
  virtual bool refill(std::size_t n) = 0;

  // Called when nothing more will be read. Pieces that stay readable remain so.
  virtual void close_input() {}

  const std::uint8_t* begin_ = nullptr;  // at offset base_
  const std::uint8_t* cursor_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  const std::uint8_t* given_ = nullptr;  // at or after the end of the last piece returned
  std::uint64_t base_ = 0;
  std::uint64_t left_out_ = 0;
  std::string failure_;
  std::string damage_;
  bool cut_short_ = false;

 private:
  bool stopped_ = false;
};

// Bytes that are already in memory and stay there.
class MemoryFeed final : public Feed {
 public:
  explicit MemoryFeed(std::span<const std::uint8_t> bytes) {
    begin_ = cursor_ = bytes.data();
    end_ = begin_ + bytes.size();
  }

  [[nodiscard]] bool stays() const override { return true; }

 private:
  bool refill(std::size_t) override { return false; }
};

}  // namespace rpcrdma::capture
