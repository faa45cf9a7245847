// Lines in the order of their messages, though some are finished later than others.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

namespace rpcrdma::report {

// A Call's line is complete only when its Reply was seen. Lines behind it wait, up to a limit; then
// the oldest is written as it is at that moment.
class OrderedOutput {
 public:
  using Write = std::function<void(const std::string&)>;
  // Writes an unfinished line at the last moment.
  using Finish = std::function<std::string(std::uint64_t id)>;

  OrderedOutput(Write write, Finish finish, std::size_t limit)
      : write_(std::move(write)), finish_(std::move(finish)), limit_(limit) {}

  // IDs must rise from call to call.
  void reserve(std::uint64_t id);
  void ready(std::uint64_t id, std::string text);
  void flush();

 private:
  struct Entry {
    std::uint64_t id;
    bool ready;
    std::string text;
  };
  Entry* find(std::uint64_t id);
  void write_ready();

  Write write_;
  Finish finish_;
  std::size_t limit_;
  std::deque<Entry> entries_;
};

}  // namespace rpcrdma::report
