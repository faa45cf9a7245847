// Writes lines in the order of their messages, although some lines are complete later than others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::report {

// A Call's line is complete when its Reply is seen. Later lines wait for it, up to a limit; then
// the oldest line is written incomplete.
class OrderedOutput {
 public:
  using Write = std::function<void(std::string_view)>;
  // Returns an incomplete line that must be written now.
  using Finish = std::function<std::string(std::uint64_t id)>;
  struct Limits {
    std::size_t lines = 0;
    std::size_t bytes = 0;  // of waiting text
  };

  OrderedOutput(Write write, Finish finish, Limits limits)
      : write_(std::move(write)), finish_(std::move(finish)), limits_(limits) {}

  // IDs must increase from call to call.
  void reserve(std::uint64_t id);
  void ready(std::uint64_t id, std::string_view text);
  // Adds text that follows all lines reserved so far.
  void add(std::string_view text);
  // Nothing waits, so added text is written at once.
  [[nodiscard]] bool idle() const { return entries_.empty(); }
  [[nodiscard]] bool waits(std::uint64_t id) const;
  void flush();

 private:
  struct Entry {
    std::uint64_t id;
    bool ready;
    std::string text;
  };
  [[nodiscard]] std::deque<Entry>::const_iterator find(std::uint64_t id) const;
  void finish_oldest();
  void write_ready();
  void pop_front();
  [[nodiscard]] std::string new_text(std::string_view text);

  static constexpr std::size_t kMostSpare = 1024, kMostSpareBytes = 4096;

  Write write_;
  Finish finish_;
  Limits limits_;
  std::deque<Entry> entries_;
  std::vector<std::string> spare_;  // empty, of written entries
  std::size_t waiting_bytes_ = 0;   // of the entries' text
};

}  // namespace rpcrdma::report
