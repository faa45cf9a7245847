// Two ways to search: through the rows of the store, or through the frames with the analyzer.
#include "row_message.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <rpcrdma/filter/model_fields.h>
#include <rpcrdma/index/search.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/session/session.h>

namespace rpcrdma::index {

namespace {

using Clock = std::chrono::steady_clock;
using decode::FieldId;

constexpr auto kStep = std::chrono::milliseconds(15);
constexpr std::size_t kRowsAtOnce =
    1024;  // searched while the store is locked: under a millisecond
constexpr std::size_t kFramesAtOnce = 256;

struct Way {
  virtual ~Way() = default;
  // Searches some more messages and appends the IDs of those that match. Returns false when none
  // are left.
  virtual bool some(std::vector<std::uint64_t>& matches) = 0;
  [[nodiscard]] virtual std::uint64_t done() const = 0;
  [[nodiscard]] virtual const std::string& error() const = 0;
};

// A Call is checked again when it is over, and any message when something is found on it.
class ByRows final : public Way {
 public:
  ByRows(const Store& store, filter::Filter filter)
      : store_(store),
        filter_(std::move(filter)),
        late_(filter_.needs_answer()),
        findings_(filter_.needs_findings()) {}

  bool some(std::vector<std::uint64_t>& matches) override {
    return store_.read([&](const Content& c) {
      const std::uint64_t last = std::min<std::uint64_t>(c.rows.size(), done_ + kRowsAtOnce);
      const bool more = last != done_;
      while (done_ < last) look(c, ++done_, matches);
      if (more) return true;
      // Facts that were unknown at the first check.
      bool any = false;
      for (std::size_t i = 0; i < open_.size();) {
        const MessageRow& row = c.rows[open_[i] - 1];
        if (!row.is(MessageRow::kOver) && (late_ || row.procedure == 0)) {
          ++i;
          continue;
        }
        const std::uint64_t id = open_[i];
        open_[i] = open_.back();
        open_.pop_back();
        any = check(c, id, matches) || any;
      }
      if (!findings_) return any;
      for (; found_ < c.found.size(); ++found_) {
        any = check(c, c.found[found_].message, matches) || any;
      }
      return any;
    });
  }
  [[nodiscard]] std::uint64_t done() const override { return done_; }
  [[nodiscard]] const std::string& error() const override { return error_; }

 private:
  void look(const Content& c, std::uint64_t id, std::vector<std::uint64_t>& matches) {
    const MessageRow& row = c.rows[id - 1];
    if (row.kind == model::Kind::kCall && !row.is(MessageRow::kOver) &&
        (late_ || row.procedure == 0)) {
      open_.push_back(id);
      return;
    }
    if (filter_.matches(message_.of(c, id))) matches.push_back(id);
  }
  bool check(const Content& c, std::uint64_t id, std::vector<std::uint64_t>& matches) {
    if (id > done_ || !filter_.matches(message_.of(c, id))) return false;
    matches.push_back(id);
    return true;
  }

  const Store& store_;
  filter::Filter filter_;
  bool late_, findings_;
  RowMessage message_;
  std::uint64_t done_ = 0;
  std::vector<std::uint64_t> open_;  // Calls that can still match
  std::size_t found_ = 0;            // of Content::found
  std::string error_;
};

// The model assigns the same IDs as in the first run, since it sees the same frames.
class ByFrames final : public Way, private model::Observer {
 public:
  ByFrames(const Store& store, std::string frames, filter::Filter filter)
      : store_(store),
        frames_(std::move(frames)),
        filter_(std::move(filter)),
        late_(filter_.needs_answer()),
        session_({.model = options(filter_, store)}, {.after_rules = {this}}),
        context_(session_.context()) {}

  bool some(std::vector<std::uint64_t>& matches) override {
    matches_ = &matches;
    if (finished_ || !error_.empty()) return false;
    std::uint64_t known = 0;
    bool whole = false;
    std::optional<capture::Mark> mark;
    std::uint64_t gone = 0;
    store_.read([&](const Content& c) {
      gone = c.progress.gap.last_frame;
      known = c.integrity.frames;
      whole = c.progress.finished;
      start_ns_ = c.first_ns;
      if (!c.marks.empty() && source_ == nullptr) mark = c.marks.front();
    });
    if (at_ < gone) {
      error_ =
          "this filter reads frames, and some are no longer in the buffer; choose a filter of "
          "the table's columns";
      return false;
    }
    // A growing file is read up to its end at the time of opening: later frames need it opened
    // again.
    if (source_ == nullptr || (at_ < known && at_ == opened_for_)) {
      if (source_ != nullptr) mark = source_->mark();
      if (!mark) return false;
      auto opened = capture::open_file_at(frames_, *mark);
      if (!opened) {
        error_ = opened.error().message;
        return false;
      }
      source_ = std::move(*opened);
      opened_for_ = known;
    }
    bool any = false;
    const std::uint64_t until = std::min(known, opened_for_);
    for (std::size_t i = 0; i < kFramesAtOnce && at_ < until; ++i) {
      capture::Frame frame;
      const auto more = source_->next(frame);
      if (!more || !*more) {
        error_ =
            more ? frames_ + ": the file was changed: frames are missing" : more.error().message;
        return false;
      }
      at_ = frame.number;
      session_.pipeline().frame(frame);
      any = true;
    }
    if (!any && whole && at_ >= known) {
      session_.pipeline().finish();
      finished_ = true;
    }
    return any;
  }
  [[nodiscard]] std::uint64_t done() const override { return done_; }
  [[nodiscard]] const std::string& error() const override { return error_; }

 private:
  static model::ModelOptions options(const filter::Filter& filter, const Store& store) {
    model::ModelOptions o;
    o.check_icrc = store.read([](const Content& c) { return c.check_icrc; });
    o.keep_bytes = filter.needs_bytes();
    return o;
  }

  void on_message(const model::MessageSeen& event) override {
    const model::Message& m = event.message;
    done_ = m.id;
    const bool later = m.kind == model::Kind::kCall
                           ? late_ || !m.rpc.known
                           : m.kind == model::Kind::kReply && !m.reads.empty();
    if (event.call != nullptr && later) {
      open_.insert(m.id);
    } else if (matches(m, event.call)) {
      matches_->push_back(m.id);
    }
  }
  void on_identified(const model::Call& call) override {
    if (!late_) decide(call);
  }
  void on_call_end(const model::CallEnded& event) override { decide(event.call); }
  void on_reply_read(const model::ReplyRead& event) override { decide(event.reply, event.call); }
  void decide(const model::Call& call) { decide(call.message, call); }
  void decide(const model::Message& m, const model::Call& call) {
    if (open_.erase(m.id) != 0 && matches(m, &call)) matches_->push_back(m.id);
  }

  bool matches(const model::Message& m, const model::Call* call) {
    filter::Inputs in = context_.inputs(m, call, start_ns_);
    rules_.clear();
    if (filter_.needs_findings()) {
      store_.read([&](const Content& c) {
        const auto [begin, end] = c.kinds_of.equal_range(m.id);
        for (auto it = begin; it != end; ++it) {
          rules_.emplace_back(c.kinds[it->second].rule->name);
        }
      });
    }
    in.findings = rules_;
    return filter_.matches(in);
  }

  const Store& store_;
  std::string frames_;
  filter::Filter filter_;
  bool late_;
  session::Session session_;
  const report::Context& context_;
  std::unique_ptr<capture::Source> source_;
  std::uint64_t opened_for_ = 0;  // number of frames known at that time
  std::uint64_t at_ = 0;          // frames read
  std::int64_t start_ns_ = 0;
  bool finished_ = false;
  std::vector<std::uint64_t>* matches_ = nullptr;
  std::unordered_set<std::uint64_t> open_;  // Calls that are not known well enough yet
  std::uint64_t done_ = 0;
  std::vector<std::string_view> rules_;
  std::string error_;
};

}  // namespace

const filter::FieldSet& Search::fields_of_rows() {
  static const filter::FieldSet set = filter::field_set({FieldId::kFrameNumber,
                                                         FieldId::kFrameTime,
                                                         FieldId::kFrameTimeRelative,
                                                         FieldId::kConnection,
                                                         FieldId::kKind,
                                                         FieldId::kReverse,
                                                         FieldId::kPeer,
                                                         FieldId::kSendLength,
                                                         FieldId::kFieldsOnly,
                                                         FieldId::kComplete,
                                                         FieldId::kBadIcrc,
                                                         FieldId::kCongestion,
                                                         FieldId::kFinding,
                                                         FieldId::kTransport,
                                                         FieldId::kXid,
                                                         FieldId::kVersion,
                                                         FieldId::kCredit,
                                                         FieldId::kProc,
                                                         FieldId::kError,
                                                         FieldId::kRpcProgram,
                                                         FieldId::kRpcProgramVersion,
                                                         FieldId::kRpcProcedure,
                                                         FieldId::kRpcProgramName,
                                                         FieldId::kRpcProcedureName,
                                                         FieldId::kRpcStatus,
                                                         FieldId::kRpcReplyStat,
                                                         FieldId::kRpcAcceptStat,
                                                         FieldId::kRpcRejectStat,
                                                         FieldId::kNfsMinorVersion,
                                                         FieldId::kNfsStatus,
                                                         FieldId::kNfsOp,
                                                         FieldId::kCreditRequested,
                                                         FieldId::kCreditGranted,
                                                         FieldId::kCreditInUse,
                                                         FieldId::kInvalidatedHandle,
                                                         FieldId::kMatchFrame,
                                                         FieldId::kLatency,
                                                         FieldId::kOperations,
                                                         FieldId::kMoved,
                                                         FieldId::kExchange,
                                                         FieldId::kRpcMsgType});
  return set;
}

struct Search::Impl {
  const Store& store;
  std::unique_ptr<Way> way;
  bool reads = false;
};

Search::Search(const Store& store, std::string frames, filter::Filter filter)
    : impl_(std::make_unique<Impl>(Impl{store, nullptr, false})) {
  impl_->reads = (filter.fields() & ~fields_of_rows()).any();
  if (impl_->reads) {
    impl_->way = std::make_unique<ByFrames>(store, std::move(frames), std::move(filter));
  } else {
    impl_->way = std::make_unique<ByRows>(store, std::move(filter));
  }
}

Search::~Search() = default;

bool Search::reads() const {
  return impl_->reads;
}

Search::Found Search::step() {
  Found found;
  const Clock::time_point until = Clock::now() + kStep;
  bool more = true;
  while (more && Clock::now() < until) more = impl_->way->some(found.messages);
  std::sort(found.messages.begin(), found.messages.end());
  found.messages.erase(std::unique(found.messages.begin(), found.messages.end()),
                       found.messages.end());
  found.idle = !more;
  found.done = impl_->way->done();
  found.error = impl_->way->error();
  found.total = impl_->store.read([](const Content& c) { return c.rows.size(); });
  return found;
}

}  // namespace rpcrdma::index
