// Collects what every source shows, joins what is the same message, and puts all in order of time.
#include "point_output.h"
#include "text/end_text.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/report/file_text.h>
#include <rpcrdma/report/message_json.h>
#include <rpcrdma/report/point_listing.h>

namespace rpcrdma::report {

namespace {

// An XID that comes again after this time is another message.
constexpr std::int64_t kSameMessageNs = 60'000'000'000;

// The part of a message that is kept beside its text.
constexpr std::size_t kOverhead = 2 * sizeof(Sighting);

// The summary of message_line(), without the frames of one source.
std::string line_of(const model::Message& m, const model::Call* call, const Context& context,
                    const TextStyle& style) {
  constexpr std::size_t kMostName = 48;
  const roce::Connection& c = context.connection(m);
  const std::size_t sender = context.sender(m);
  std::string line =
      fmt::format("{} > {}: {}", end_text(c.side[sender]), end_text(c.side[1 - sender]),
                  transport_summary(m, context, style));
  const std::string label = rpc_label(m.rpc);
  if (!label.empty()) line += " | " + label;
  const bool reply = m.kind == model::Kind::kReply;
  const model::FileUse* const use = call != nullptr ? call->file_use() : nullptr;
  if (!label.empty() && use != nullptr) {
    const std::string file = file_text(*use, reply, kMostName);
    if (!file.empty()) line += " " + file;
  }
  const std::string status = reply ? reply_status(m.rpc) : std::string();
  if (!status.empty()) line += " | " + status;
  return line;
}

// Turns the messages of one session into sightings.
class FileMessages final : public model::Observer {
 public:
  FileMessages(std::uint32_t file, const PointListingOptions& options)
      : file_(file),
        options_(options),
        most_bytes_(options.most_bytes / std::max<std::size_t>(options.files, 1)) {}

  void begin(const session::Context& context) { context_ = &context; }
  // Connections have their final IDs from now on.
  void end() {
    if (context_ == nullptr) return;
    for (Sighting& s : sightings_) s.connection = context_->connection_id(s.connection);
    context_ = nullptr;
    unidentified_.clear();
  }

  void add(Sighting s) {
    if (full_ns_ || bytes_ + kOverhead + s.text.size() > most_bytes_) {
      if (!full_ns_) full_ns_ = s.time_ns;
      ++left_out_;
      return;
    }
    bytes_ += kOverhead + s.text.size();
    sightings_.push_back(std::move(s));
  }

  void on_message(const model::MessageSeen& event) override {
    const model::Message& m = event.message;
    if (context_ == nullptr || (options_.xid && m.xid != *options_.xid)) return;
    Sighting s;
    s.file = file_;
    s.connection = m.connection;
    s.sender = context_->connection(m).side[context_->sender(m)].address;
    s.kind = m.kind;
    s.xid = m.xid;
    s.frame = m.frame;
    s.time_ns = m.time_ns;
    s.has_bytes = !model::is_absent(m, roce::kAbsentBytes);
    s.text = render(m, event.call);
    const bool later =
        m.kind == model::Kind::kCall && event.call != nullptr && !event.call->identified;
    const std::size_t place = sightings_.size();
    add(std::move(s));
    if (later && sightings_.size() > place) unidentified_.emplace(m.id, place);
  }

  void on_identified(const model::Call& call) override {
    const auto it = unidentified_.find(call.message.id);
    if (it == unidentified_.end() || context_ == nullptr) return;
    sightings_[it->second].text = render(call.message, &call);
    unidentified_.erase(it);
  }
  void on_call_end(const model::CallEnded& event) override {
    unidentified_.erase(event.call.message.id);
  }

  [[nodiscard]] const std::vector<Sighting>& sightings() const { return sightings_; }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
  [[nodiscard]] std::optional<std::int64_t> full_ns() const { return full_ns_; }

 private:
  std::string render(const model::Message& m, const model::Call* call) {
    if (!options_.json) return line_of(m, call, *context_, options_.style);
    write_message(json_, m, call, *context_);
    return json_.take();
  }

  std::uint32_t file_;
  const PointListingOptions& options_;
  std::size_t most_bytes_;
  const session::Context* context_ = nullptr;
  JsonWriter json_;
  std::vector<Sighting> sightings_;
  // Calls whose program is not known yet, by the ID of their message: places in the list.
  std::unordered_map<std::uint64_t, std::size_t> unidentified_;
  std::size_t bytes_ = 0;
  std::uint64_t left_out_ = 0;
  std::optional<std::int64_t> full_ns_;
};

std::optional<std::int64_t> aligned(const ends::Ends& ends, std::uint32_t source, std::int64_t ns) {
  if (source >= ends.sources.size()) return std::nullopt;
  return ends.sources[source].reference ? ns : ends.sources[source].clock.to_reference(ns);
}

constexpr std::uint64_t key_of(std::uint32_t file, std::uint32_t connection) {
  return std::uint64_t{file} << 32 | connection;
}

// The source of a file; files of a ring have the same. A file that is none has no clock either.
std::uint32_t source_of(const ends::Ends& ends, std::uint32_t file) {
  for (std::uint32_t i = 0; i < ends.sources.size(); ++i) {
    const std::vector<std::uint32_t>& files = ends.sources[i].files;
    if (std::find(files.begin(), files.end(), file) != files.end()) return i;
  }
  return UINT32_MAX - file;
}

// A sighting with its key: equal keys may be the same message.
struct Item {
  std::uint64_t connection = 0;
  const Sighting* sighting = nullptr;
  std::uint32_t source = 0;
  std::int64_t at_ns = 0;
  bool aligned = false;

  [[nodiscard]] auto key() const {
    return std::tuple(connection, sighting->xid, sighting->kind, sighting->sender);
  }
};

constexpr std::uint64_t kUnshared = std::uint64_t{1} << 63;

struct Group {
  std::size_t from = 0, to = 0;  // of the items
  std::int64_t at_ns = 0;
};

// The points of a connection, by source.
std::map<std::uint32_t, std::string> names_of_points(const ends::Ends& ends,
                                                     const ends::EndsConnection& c) {
  constexpr std::array kNames{"client", "server", "wire"};
  std::map<std::uint32_t, std::string> names;
  const std::size_t n = std::min(c.sources.size(), c.kinds.size());
  for (std::size_t i = 0; i < n; ++i) {
    std::string name = kNames.at(static_cast<std::size_t>(c.kinds[i]));
    const auto same = std::count(c.kinds.begin(), c.kinds.end(), c.kinds[i]);
    if (same > 1 && c.sources[i] < ends.sources.size()) {
      name += fmt::format("({})", plot::escape_terminal(ends.sources[c.sources[i]].file));
    }
    names.emplace(c.sources[i], std::move(name));
  }
  return names;
}

// The order of points along the path: client, wire, server.
int place_of(const ends::EndsConnection& c, std::uint32_t source) {
  for (std::size_t i = 0; i < std::min(c.sources.size(), c.kinds.size()); ++i) {
    if (c.sources[i] != source) continue;
    return c.kinds[i] == ends::PointKind::kClient ? 0
           : c.kinds[i] == ends::PointKind::kWire ? 1
                                                  : 2;
  }
  return 3;
}

}  // namespace

struct PointListing::Impl {
  explicit Impl(PointListingOptions with) : options(std::move(with)) {}

  FileMessages& of(std::uint32_t file) {
    auto& at = files[file];
    if (at == nullptr) at = std::make_unique<FileMessages>(file, options);
    return *at;
  }

  // When the listing ends, since a file had no more memory.
  [[nodiscard]] std::optional<std::int64_t> last_ns(const ends::Ends& ends) const {
    std::optional<std::int64_t> last;
    for (const auto& [file, messages] : files) {
      if (!messages->full_ns()) continue;
      const std::uint32_t source = source_of(ends, file);
      const std::int64_t at = aligned(ends, source, *messages->full_ns()).value_or(INT64_MAX);
      last = std::min(last.value_or(INT64_MAX), at);
    }
    return last;
  }

  std::vector<Item> items(const ends::Ends& ends, Written& counts) const {
    std::unordered_map<std::uint64_t, std::uint32_t> shared;
    for (std::uint32_t i = 0; i < ends.connections.size(); ++i) {
      for (const ends::ShownAs& as : ends.connections[i].shown_as) {
        shared.emplace(key_of(as.file, as.connection), i);
      }
    }
    const auto last = last_ns(ends);
    std::vector<Item> out;
    for (const auto& [file, messages] : files) {
      const std::uint32_t source = source_of(ends, file);
      counts.left_out += messages->left_out();
      for (const Sighting& s : messages->sightings()) {
        const auto at = aligned(ends, source, s.time_ns);
        if (last && at.value_or(s.time_ns) >= *last) {
          ++counts.left_out;
          continue;
        }
        if (!at) ++counts.not_aligned;
        const std::uint64_t own = key_of(file, s.connection);
        const auto it = shared.find(own);
        out.push_back({it != shared.end() ? it->second : kUnshared | own, &s, source,
                       at.value_or(s.time_ns), at.has_value()});
      }
    }
    std::sort(out.begin(), out.end(), [](const Item& a, const Item& b) {
      return std::tuple(a.key(), a.at_ns, a.source, a.sighting->frame) <
             std::tuple(b.key(), b.at_ns, b.source, b.sighting->frame);
    });
    return out;
  }

  PointListingOptions options;
  std::map<std::uint32_t, std::unique_ptr<FileMessages>> files;
};

namespace {

// Sightings of one key that follow each other, at most one of each source, are one message.
std::vector<Group> groups_of(std::span<const Item> items) {
  std::vector<Group> out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    bool joins = !out.empty();
    if (joins) {
      const Group& g = out.back();
      joins = items[g.from].key() == items[i].key() && items[i].at_ns - g.at_ns < kSameMessageNs;
      for (std::size_t k = g.from; joins && k < i; ++k) {
        joins = items[k].source != items[i].source;
      }
    }
    joins ? static_cast<void>(out.back().to = i + 1) : out.push_back({i, i + 1, items[i].at_ns});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Group& a, const Group& b) { return a.at_ns < b.at_ns; });
  return out;
}

class Placing {
 public:
  explicit Placing(const ends::Ends& ends) : ends_(ends) {
    for (const ends::EndsConnection& c : ends.connections)
      points_.push_back(names_of_points(ends, c));
    for (const ends::EndsCall& c : ends.calls) calls_.push_back(&c);
    std::sort(calls_.begin(), calls_.end(), [](const auto* a, const auto* b) {
      return std::tuple(a->connection, a->xid, a->begin_ns) <
             std::tuple(b->connection, b->xid, b->begin_ns);
    });
  }

  [[nodiscard]] PlacedMessage place(std::span<const Item> items) const {
    PlacedMessage m;
    const std::uint64_t connection = items[0].connection;
    if (connection < ends_.connections.size()) {
      m.connection = &ends_.connections[connection];
      m.connection_index = static_cast<std::uint32_t>(connection);
    }
    for (const Item& item : items) {
      m.seen.push_back(
          {item.sighting, item.source, item.at_ns, item.aligned, point(m, item.source)});
      if (m.shown == nullptr || richer(*item.sighting, *m.shown)) m.shown = item.sighting;
    }
    if (m.connection == nullptr) return m;
    const ends::EndsConnection& c = *m.connection;
    std::stable_sort(m.seen.begin(), m.seen.end(), [&c](const auto& a, const auto& b) {
      return place_of(c, a.source) < place_of(c, b.source);
    });
    for (const auto& [source, name] : points_[connection]) {
      const auto has = [id = source](const PlacedSighting& p) { return p.source == id; };
      if (std::none_of(m.seen.begin(), m.seen.end(), has)) m.unseen.push_back(name);
    }
    const model::Kind kind = items[0].sighting->kind;
    if (kind == model::Kind::kReply || kind == model::Kind::kError) m.call = call_of(items[0]);
    return m;
  }

 private:
  static bool richer(const Sighting& a, const Sighting& b) { return a.has_bytes && !b.has_bytes; }

  [[nodiscard]] std::string point(const PlacedMessage& m, std::uint32_t source) const {
    if (m.connection != nullptr) {
      const auto& names = points_[m.connection_index];
      if (const auto it = names.find(source); it != names.end()) return it->second;
    }
    return source < ends_.sources.size() ? plot::escape_terminal(ends_.sources[source].file) : "?";
  }

  // The Call whose end is closest to its Reply.
  [[nodiscard]] const ends::EndsCall* call_of(const Item& reply) const {
    const auto connection = static_cast<std::uint32_t>(reply.connection);
    const ends::EndsCall* best = nullptr;
    auto it = std::lower_bound(
        calls_.begin(), calls_.end(), std::pair(connection, reply.sighting->xid),
        [](const auto* c, const auto& key) { return std::pair(c->connection, c->xid) < key; });
    const auto distance = [&](const ends::EndsCall& c) {
      return c.end_ns > reply.at_ns ? c.end_ns - reply.at_ns : reply.at_ns - c.end_ns;
    };
    for (; it != calls_.end(); ++it) {
      const ends::EndsCall& c = **it;
      if (c.connection != connection || c.xid != reply.sighting->xid) break;
      if (distance(c) < kSameMessageNs && (best == nullptr || distance(c) < distance(*best))) {
        best = &c;
      }
    }
    return best;
  }

  const ends::Ends& ends_;
  std::vector<std::map<std::uint32_t, std::string>> points_;  // by connection
  std::vector<const ends::EndsCall*> calls_;
};

}  // namespace

PointListing::PointListing(PointListingOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
PointListing::~PointListing() = default;

model::Observer* PointListing::observer(std::uint32_t file) {
  return &impl_->of(file);
}
void PointListing::session_begins(std::uint32_t file, const session::Context& context) {
  impl_->of(file).begin(context);
}
void PointListing::file_ended(std::uint32_t file) {
  impl_->of(file).end();
}
void PointListing::add(Sighting sighting) {
  impl_->of(sighting.file).add(std::move(sighting));
}

PointListing::Written PointListing::write(const ends::Ends& ends,
                                          const std::function<void(std::string_view)>& to) {
  Written counts;
  const std::vector<Item> items = impl_->items(ends, counts);
  const Placing placing(ends);
  const PointListingOptions& options = impl_->options;
  to(options.json ? points_head_json(ends) : points_head_text(ends));
  for (const Group& g : groups_of(items)) {
    if (options.most != 0 && counts.messages == options.most) break;
    const PlacedMessage m = placing.place(std::span(items).subspan(g.from, g.to - g.from));
    to(options.json ? points_json(m, ends) : points_text(m, ends));
    ++counts.messages;
    if (m.connection != nullptr && m.seen.size() == 1) ++counts.seen_once;
  }
  return counts;
}

}  // namespace rpcrdma::report
