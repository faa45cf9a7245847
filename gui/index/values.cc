// Counts by the same view of a row that filters have, so that each value finds what was counted.
#include "row_message.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <rpcrdma/filter/model_fields.h>
#include <rpcrdma/index/search.h>
#include <rpcrdma/index/values.h>

namespace rpcrdma::index {

namespace {

constexpr std::uint64_t kCountedAtOnce = 1024;  // while the store is locked: under a millisecond

class ValueCounter final : public decode::Sink {
 public:
  // A message counts once for each value that it has.
  void next_message() { ++message_; }
  [[nodiscard]] bool full() const { return full_; }

  [[nodiscard]] FieldValues take() && {
    FieldValues out;
    out.too_many = full_;
    for (auto& [key, entry] : counts_) {
      out.values.push_back({key.first, key.second, entry.messages});
    }
    std::stable_sort(out.values.begin(), out.values.end(),
                     [](const auto& a, const auto& b) { return a.messages > b.messages; });
    return out;
  }

  void open(decode::FieldId id, std::size_t offset, std::size_t length,
            std::string_view summary) override {
    static_cast<void>(id), static_cast<void>(offset), static_cast<void>(length);
    static_cast<void>(summary);
  }
  void close() override {}
  void number(decode::FieldId id, std::size_t offset, std::size_t length, std::uint64_t value,
              const char* name) override {
    static_cast<void>(offset), static_cast<void>(length);
    const char* const known = name != nullptr ? name : decode::value_name(decode::spec(id), value);
    add(value, known != nullptr ? known : "");
  }
  void bytes(decode::FieldId id, std::size_t offset, std::size_t length,
             wire::Bytes value) override {
    static_cast<void>(id), static_cast<void>(offset), static_cast<void>(length);
    static_cast<void>(value);
  }
  void text(decode::FieldId id, std::size_t offset, std::size_t length,
            std::string_view value) override {
    static_cast<void>(id), static_cast<void>(offset), static_cast<void>(length);
    add(0, value);
  }
  void error(const wire::DecodeError& error) override { static_cast<void>(error); }

 private:
  struct Entry {
    std::uint64_t messages = 0, latest = 0;
  };
  using Key = std::pair<std::uint64_t, std::string>;
  struct Less {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      if (a.first != b.first) return a.first < b.first;
      return std::string_view(a.second) < std::string_view(b.second);
    }
  };

  void add(std::uint64_t number, std::string_view text) {
    auto it = counts_.find(std::make_pair(number, text));
    if (it == counts_.end()) {
      if (counts_.size() == FieldValues::kMost) {
        full_ = true;
        return;
      }
      it = counts_.emplace(Key(number, text), Entry{}).first;
    }
    if (std::exchange(it->second.latest, message_) != message_) ++it->second.messages;
  }

  std::map<Key, Entry, Less> counts_;
  std::uint64_t message_ = 0;
  bool full_ = false;
};

}  // namespace

FieldValues count_values(const Store& store, decode::FieldId field,
                         const std::atomic<bool>& cancelled) {
  if (!Search::fields_of_rows().test(static_cast<std::size_t>(field))) return {};
  const filter::FieldSet wanted = filter::field_set({field});
  RowMessage message;
  ValueCounter counter;
  std::uint64_t done = 0;
  for (bool more = true; more && !counter.full() && !cancelled;) {
    more = store.read([&](const Content& c) {
      const std::uint64_t until = std::min<std::uint64_t>(c.rows.size(), done + kCountedAtOnce);
      if (done == until) return false;
      while (done < until) {
        counter.next_message();
        filter::model_fields(message.of(c, ++done), wanted, counter);
      }
      return true;
    });
  }
  return std::move(counter).take();
}

}  // namespace rpcrdma::index
